// How late a share of all wakeups was at most, with the tail drawn out as in HdrHistogram's plots.

import type { Histogram } from "../document.ts";
import type { Entry } from "../entries.ts";
import * as format from "../format.ts";
import { h } from "../dom.ts";
import { modeColor, modeVariable } from "../look.ts";
import { extent, LINEAR, LOG, padded, scaleFor, ticks } from "../scale.ts";
import { symbol } from "../symbol.ts";
import { grid, leftMargin, room, valueAxis } from "./axis.ts";
import { type Distribution, distribution, quantile, steps } from "./counts.ts";
import type { Source } from "./plot.ts";
import { pointStyle } from "./shapes.ts";
import { tooltip } from "./tooltip.ts";

export interface Probed {
  entry: Entry;
  histogram: Histogram;
}

export function percentiles(probed: () => Probed[], unit: () => string): Source {
  const curves = () =>
    probed().flatMap(({ entry, histogram }) => {
      const of = distribution(histogram);
      return of.values.length > 0 ? [{ entry, of }] : [];
    });
  // A value of zero is less than one, and has no place on a logarithmic axis.
  const drawn = (value: number) => Math.max(value, 0.5);
  const all = () => curves().flatMap(({ of }) => extent(of.values).map(drawn));
  return {
    title: "Percentiles of wakeup latency",
    zoom: "xy",
    full() {
      const shown = curves();
      if (shown.length === 0) return "No configuration that is switched on has a histogram of this probe.";
      const largest = Math.max(...shown.map(({ of }) => of.total));
      return { x: [0, Math.log10(2 * largest)], y: padded(scaleFor(all()), all(), 0.05, 0.05, BUCKET) };
    },
    size(width) {
      const height = Math.round(Math.min(480, Math.max(330, width * 0.5)));
      return { width, height, margin: { left: leftMargin(all()), right: 18, top: 12, bottom: 44 } };
    },
    summary() {
      const medians = curves().map(({ entry, of }) =>
        `${entry.name}: p50 ${format.number(quantile(of, 0.5))}, p99 ${format.number(quantile(of, 0.99))}, largest ${format.number(of.values.at(-1))} ${unit()}`
      );
      return `${medians.join("; ")}.`;
    },
    option(frame, size, look) {
      const scale = scaleFor(all());
      const tails = ticks(LOG, [-frame.x[1], -frame.x[0]], room(size, "x"));
      const shown = curves();
      return {
        grid: grid(size),
        tooltip: {
          ...tooltip({ look, trigger: "axis" }),
          axisPointer: { type: "line", snap: false, lineStyle: { color: look.faint, type: "dashed" }, label: { show: false } },
          formatter: (params: { axisValue: number }[]) => atPercentile(params[0]?.axisValue ?? 0, shown, unit()),
        },
        xAxis: valueAxis(look, {
          scale: LINEAR,
          span: frame.x,
          name: "Percentile of wakeups",
          room: 0,
          places: tails.map((tail) => -tail),
          write: percentile,
        }),
        yAxis: valueAxis(look, {
          scale,
          span: frame.y,
          name: `Latency (${unit()})`,
          room: room(size, "y"),
          left: size.margin.left,
        }),
        series: shown.map(({ entry, of }) => {
          const points = steps(of).map(([x, value]) => [x, scale.to(drawn(value))] as const);
          const last = points.length - 1;
          return {
            type: "line",
            clip: true,
            showAllSymbol: true,
            triggerLineEvent: true,
            emphasis: { focus: "series", lineStyle: { width: 3 } },
            blur: { lineStyle: { opacity: 0.25 } },
            lineStyle: { color: modeColor(look, entry.mark.mode), width: 1.75, type: entry.mark.dash.length > 0 ? entry.mark.dash : "solid" },
            ...pointStyle(look, entry.mark, 9),
            symbolSize: (_: unknown, { dataIndex }: { dataIndex: number }) => (dataIndex === last ? 9 : 0),
            data: points,
          };
        }),
      };
    },
  };
}

/** Histograms have whole units. */
const BUCKET = 1;

/** `99.9 %` of the place 3, `98.5 %` of the place 1.82: with the digits that tell it from its neighbours. */
function percentile(place: number): string {
  const rest = 100 * 10 ** -place;
  const digits = [0, 1, 2, 3, 4, 5, 6, 7].find((some) => Math.abs(Number((100 - rest).toFixed(some)) - (100 - rest)) < rest / 100);
  return `${(100 - rest).toFixed(digits ?? 8)} %`;
}

function atPercentile(place: number, curves: { entry: Entry; of: Distribution }[], unit: string) {
  const share = 1 - 10 ** -place;
  const rows = curves
    // Beyond one sample in all there is nothing to say.
    .filter(({ of }) => place <= Math.log10(2 * of.total))
    .map(({ entry, of }) => ({ entry, value: quantile(of, share) }))
    .sort((left, right) => (right.value ?? Infinity) - (left.value ?? Infinity));
  return h(
    "div",
    { class: "tip" },
    h("strong", {}, `${(100 * share).toFixed(Math.max(1, Math.ceil(place)))} % of wakeups: at most`),
    ...rows.map(({ entry, value }) =>
      h("div", {}, symbol(entry.mark, modeVariable(entry.mark.mode)), ` ${entry.short}: ${value === undefined ? "beyond the histogram" : `${format.number(value)} ${unit}`}`)
    ),
  );
}
