// One row of bars per configuration, all with the same axes.

import * as format from "../format.ts";
import { modeColor } from "../look.ts";
import { padded, scaleFor } from "../scale.ts";
import { grid, room, rowAxis, rowSize, valueAxis } from "./axis.ts";
import { type Bin, bins } from "./counts.ts";
import type { Probed } from "./percentiles.ts";
import type { Source } from "./plot.ts";
import { tip, tooltip } from "./tooltip.ts";
import type { Api } from "./shapes.ts";

const ROW = 38;

export function histograms(probed: () => Probed[], unit: () => string): Source {
  const rows = () =>
    probed().flatMap(({ entry, histogram }) => {
      const of = bins(histogram);
      const total = of.reduce((sum, { count }) => sum + count, histogram.overflow);
      return of.length > 0 ? [{ entry, bins: of, total }] : [];
    });
  const left = (from: number) => Math.max(from, 0.5);
  const values = () => rows().flatMap(({ bins }) => [left(bins[0]?.from ?? 1), bins.at(-1)?.to ?? 1]);
  return {
    title: "Histograms of wakeup latency",
    zoom: "x",
    full() {
      const shown = rows();
      if (shown.length === 0) return "No configuration that is switched on has a histogram of this probe.";
      return { x: padded(scaleFor(values()), values(), 0.02), y: [-0.5, shown.length - 0.5] };
    },
    size: (width) => rowSize(width, rows().map(({ entry }) => entry.short), ROW),
    summary: () => "A row of bars per configuration; the height is the share of wakeups, logarithmic.",
    option(frame, size, look) {
      const shown = rows();
      const scale = scaleFor(values());
      // The lowest bar is one wakeup of the largest total.
      const floor = -Math.log10(Math.max(...shown.map(({ total }) => total))) - 0.3;
      const items = shown.flatMap(({ bins, total, entry }, row) => bins.map((bin) => ({ bin, row, total, entry })));
      return {
        grid: grid(size),
        tooltip: tooltip({ look }),
        xAxis: valueAxis(look, { scale, span: frame.x, name: `Latency (${unit()})`, room: room(size, "x") }),
        yAxis: rowAxis(look, shown.map(({ entry }) => entry.short), size.margin, false),
        series: [{
          type: "custom",
          clip: true,
          encode: { x: -1, y: -1 },
          data: items.map((_, index) => [index, 0]),
          renderItem: ({ dataIndex }: { dataIndex: number }, api: Api) => {
            const { bin, row, total, entry } = items[dataIndex] as (typeof items)[number];
            const [x0, base] = api.coord([scale.to(left(bin.from)), row + 0.45]);
            const [x1] = api.coord([scale.to(bin.to), row]);
            const height = (1 - Math.log10(bin.count / total) / floor) * ROW * 0.9;
            return {
              type: "rect",
              shape: { x: x0, y: base - height, width: Math.max(1, x1 - x0 - 0.5), height },
              style: { fill: modeColor(look, entry.mark.mode) },
            };
          },
          tooltip: {
            formatter: ({ dataIndex }: { dataIndex: number }) => {
              const { bin, total, entry } = items[dataIndex] as (typeof items)[number];
              const wakeups = `${format.plural(bin.count, "wakeup")} of ${total.toLocaleString("en")} (${format.share(bin.count / total)})`;
              return tip(entry, `${span(bin)} ${unit()}: ${wakeups}`);
            },
          },
        }],
      };
    },
  };
}

function span({ from, to }: Bin): string {
  return format.range([from, to - 1]);
}
