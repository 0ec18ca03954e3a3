// Every replicate of a metric as a point, with the median and its interval; for what is better when
// higher with bars from zero.

import type { MetricInfo, Summary } from "../document.ts";
import type { Entry } from "../entries.ts";
import * as format from "../format.ts";
import { modeColor } from "../look.ts";
import * as names from "../names.ts";
import { LINEAR, padded, scaleFor } from "../scale.ts";
import { spread } from "../statistics.ts";
import { grid, room, rowAxis, rowSize, valueAxis } from "./axis.ts";
import type { Source } from "./plot.ts";
import { drawing, line, pixels, pointStyle, type Shape, whisker } from "./shapes.ts";
import { swarm } from "./swarm.ts";
import { tip, tooltip } from "./tooltip.ts";

const ROW = 34;

interface What {
  title: string;
  /** Bars begin at zero, on a linear axis. */
  bars: boolean;
  info(): MetricInfo | undefined;
  entries(): Entry[];
}

export function replicates({ title, bars, info, entries }: What): Source {
  const rows = () => {
    const name = info()?.name ?? "";
    return entries().flatMap((entry) => {
      const values = entry.metrics.get(name);
      return values ? [{ entry, values, label: label(entry, values) }] : [];
    });
  };
  const all = () => rows().flatMap(({ values }) => [values.min, values.max, ...(values.interval ?? [])]);
  const scaleOf = () => (bars ? LINEAR : scaleFor(all()));
  return {
    title,
    zoom: "x",
    full() {
      const shown = rows();
      if (shown.length === 0) return "No configuration that is switched on has this metric.";
      const x = bars ? padded(LINEAR, [0, ...all()], 0, 0.04) : padded(scaleOf(), all(), 0.05, 0.05, info()?.resolution);
      return { x, y: [-0.5, shown.length - 0.5] };
    },
    size: (width) => rowSize(width, rows().map(({ label }) => label), ROW),
    summary: () =>
      `${rows().map(({ entry, values }) => `${entry.name}: ${format.number(values.median)} (${spread(values)})`).join("; ")}.`,
    option(frame, size, look) {
      const shown = rows();
      const scale = scaleOf();
      const toPixel = pixels(frame, size, true);
      const points = shown.flatMap(({ entry, values }, row) => {
        const places = values.values.map((value) => toPixel(scale.to(value), row)[0]);
        const offsets = swarm(places, 7, ROW * 0.36);
        return values.values.map((value, index) => ({
          entry, values, replicate: values.replicates[index], value, row, offset: offsets[index] ?? 0,
        }));
      });
      const unit = format.unit(info()?.unit ?? "");
      return {
        grid: grid(size),
        tooltip: tooltip({ look }),
        xAxis: valueAxis(look, {
          scale,
          span: frame.x,
          name: info() ? names.metricWithUnit(info() as MetricInfo) : "",
          room: room(size, "x"),
        }),
        yAxis: rowAxis(look, shown.map(({ label }) => label), size.margin),
        series: [
          drawing((api) =>
            shown.flatMap(({ entry, values }, row) => {
              const color = modeColor(look, entry.mark.mode);
              const place = (value: number): [number, number] => api.coord([scale.to(value), row]);
              return [
                ...(bars ? [bar(place(0), place(values.median), color)] : []),
                ...summary(values, place, bars ? look.ink : color),
              ];
            }), 1),
          {
            type: "scatter",
            clip: true,
            z: 3,
            data: points.map(({ entry, value, row, offset }) => ({
              value: [scale.to(value), row],
              symbolOffset: [0, offset],
              ...pointStyle(look, entry.mark, 9),
            })),
            tooltip: {
              formatter: ({ dataIndex }: { dataIndex: number }) => {
                const { entry, values, replicate, value } = points[dataIndex] as (typeof points)[number];
                const same = values.replicates.filter((_, index) => values.values[index] === value).map((other) => `#${other}`);
                const which = same.length > 1 ? `replicates ${same.join(", ")}` : `replicate #${replicate}`;
                return tip(entry, `${which}: ${format.number(value)} ${unit}`, `median ${format.number(values.median)} ${unit} (${spread(values)})`);
              },
            },
          },
        ],
      };
    },
  };
}

/** One replicate is said in words: a point without an interval looks precise. */
function label({ short }: Entry, { n }: Summary): string {
  return n > 1 ? short : `${short} (n=${n})`;
}

function bar([x0, y]: [number, number], [x1]: [number, number], fill: string): Shape {
  return { type: "rect", shape: { x: x0, y: y - ROW * 0.32, width: x1 - x0, height: ROW * 0.64 }, style: { fill, opacity: 0.3 } };
}

/** A tick at the median, and the interval; dotted the range, where there is no interval. */
function summary({ median, interval, min, max }: Summary, place: (value: number) => [number, number], stroke: string): Shape[] {
  const [x, y] = place(median);
  const tick = line([x, y - ROW * 0.38], [x, y + ROW * 0.38], { stroke, lineWidth: 2.5 });
  const [low, high] = interval ?? [min, max];
  if (low === high) return [tick];
  const style = { stroke, lineWidth: 1.5, ...(interval ? {} : { lineDash: [2, 3] }) };
  return [tick, ...whisker(place(low), place(high), style, interval ? 5 : 0)];
}
