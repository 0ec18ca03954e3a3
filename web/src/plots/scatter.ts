// Latency against throughput: a point per configuration, error bars, and the Pareto front.

import type { MetricInfo, Summary } from "../document.ts";
import type { Entry } from "../entries.ts";
import * as format from "../format.ts";
import { modeColor } from "../look.ts";
import * as names from "../names.ts";
import { type Scale, padded, scaleFor } from "../scale.ts";
import type { State } from "../state.ts";
import { marginOf, statistics } from "../statistics.ts";
import { grid, leftMargin, room, valueAxis } from "./axis.ts";
import { placeLabels } from "./labels.ts";
import { pareto } from "./pareto.ts";
import type { Source } from "./plot.ts";
import { drawing, pixels, pointStyle, whisker } from "./shapes.ts";
import { tip, tooltip } from "./tooltip.ts";

interface Point {
  entry: Entry;
  x: Summary;
  y: Summary;
}

/** The ends of a line, in pixels. */
type Pair = [[number, number], [number, number]];

const POINT = 13;

export function scatter(state: State): Source {
  const points = (): Point[] => {
    const [latency, throughput] = [state.latency, state.throughput];
    return state.shown.flatMap((entry) => {
      const x = latency && entry.metrics.get(latency.name);
      const y = throughput && entry.metrics.get(throughput.name);
      return x && y ? [{ entry, x, y }] : [];
    });
  };
  const xScale = () => scaleFor(points().flatMap(({ x }) => ends(x)));
  return {
    title: "Latency against throughput",
    zoom: "xy",
    full() {
      const shown = points();
      if (shown.length === 0) return "No configuration that is switched on has both a latency and a throughput.";
      const [x, y] = [shown.flatMap(({ x }) => ends(x)), shown.flatMap(({ y }) => ends(y))];
      // There is room for labels on the right.
      return {
        x: padded(scaleFor(x), x, 0.06, 0.14, state.latency?.resolution),
        y: padded(scaleFor(y), y, 0.08, 0.1, state.throughput?.resolution),
      };
    },
    size(width) {
      const height = Math.round(Math.min(460, Math.max(320, width * 0.62)));
      return { width, height, margin: { left: leftMargin(points().flatMap(({ y }) => ends(y))), right: 14, top: 12, bottom: 44 } };
    },
    summary() {
      const front = pareto(points(), state.throughput?.better);
      return `${points().length} configurations. On the Pareto front: ${front.map(({ entry }) => entry.name).join(", ")}.`;
    },
    option(frame, size, look) {
      const shown = points();
      const [across, up] = [xScale(), scaleFor(shown.flatMap(({ y }) => ends(y)))];
      const at = ({ x, y }: Point): [number, number] => [across.to(x.median), up.to(y.median)];
      const toPixel = pixels(frame, size);
      const front = pareto(shown, state.throughput?.better);
      const corners = front.map((point) => toPixel(...at(point)));
      const places = placeLabels(
        shown.map((point) => ({ at: toPixel(...at(point)), text: point.entry.short, first: front.includes(point) })),
        [
          ...shown.flatMap((point) => {
            const [x, y] = at(point);
            const [left, right] = ends(point.x).map((value) => toPixel(across.to(value), y)) as Pair;
            const [low, high] = ends(point.y).map((value) => toPixel(x, up.to(value))) as Pair;
            return [[left, right], [low, high]] as Pair[];
          }),
          ...corners.slice(1).flatMap(([x, y], before): Pair[] => {
            const [fromX, fromY] = corners[before] as [number, number];
            return [[[fromX, fromY], [x, fromY]], [[x, fromY], [x, y]]];
          }),
        ],
        size,
      );
      const [latency, throughput] = [state.latency as MetricInfo, state.throughput as MetricInfo];
      return {
        grid: grid(size),
        tooltip: tooltip({ look }),
        xAxis: valueAxis(look, {
          scale: across,
          span: frame.x,
          name: `${names.metricWithUnit(latency)}, ← better`,
          room: room(size, "x"),
        }),
        yAxis: valueAxis(look, {
          scale: up,
          span: frame.y,
          name: `${names.metricWithUnit(throughput)}, better →`,
          room: room(size, "y"),
          left: size.margin.left,
        }),
        series: [
          {
            type: "line",
            step: "end",
            silent: true,
            symbol: "none",
            lineStyle: { color: look.front, width: 1.5, type: [5, 4] },
            data: front.map(at),
            z: 1,
          },
          drawing((api) => {
            const shapes = shown.flatMap((point) => {
              const style = { stroke: modeColor(look, point.entry.mark.mode), opacity: 0.75 };
              return [
                ...bar(point.x, across, (value) => api.coord([value, up.to(point.y.median)]), style),
                ...bar(point.y, up, (value) => api.coord([across.to(point.x.median), value]), style),
              ];
            });
            return shapes;
          }, 2),
          {
            type: "scatter",
            clip: true,
            z: 3,
            data: shown.map((point, index) => ({
              value: at(point),
              ...pointStyle(look, point.entry.mark, POINT),
              label: {
                show: places[index] !== undefined,
                ...places[index],
                distance: 5,
                formatter: () => point.entry.short,
                color: look.ink,
                fontSize: 11,
                textBorderColor: look.page,
                textBorderWidth: 3,
              },
            })),
            tooltip: {
              formatter: ({ dataIndex }: { dataIndex: number }) =>
                near(shown.map((point) => toPixel(...at(point))), dataIndex).map((index) => {
                  const { entry, x, y } = shown[index] as Point;
                  return tip(entry, said(latency, x, state.data.margin), said(throughput, y, state.data.margin));
                }),
            },
          },
        ],
      };
    },
  };
}

function said(info: MetricInfo, values: Summary, margin: number): string {
  return `${names.metric(info)}: ${statistics(values, format.unit(info.unit), marginOf(info, margin))}`;
}

/** The 95 % interval with caps; without one the range of the replicates, dotted. */
function bar(values: Summary, scale: Scale, place: (value: number) => number[], style: object) {
  const [low, high] = ends(values).map((value) => scale.to(value));
  if (low === undefined || high === undefined || low === high) return [];
  const dotted = values.interval ? {} : { lineDash: [2, 3] };
  return whisker(place(low), place(high), { ...style, ...dotted, lineWidth: 1.5 }, values.interval ? 4 : 0);
}

function ends({ interval, min, max, median }: Summary): number[] {
  return interval ? [Math.min(interval[0], median), Math.max(interval[1], median)] : [min, max];
}

/** The points at one place, as whole microseconds often are: the one that is pointed at is first. */
function near(places: [number, number][], index: number): number[] {
  const [x, y] = places[index] ?? [0, 0];
  const others = places.flatMap(([u, v], at) => (at !== index && Math.hypot(u - x, v - y) < POINT * 0.6 ? [at] : []));
  return [index, ...others];
}
