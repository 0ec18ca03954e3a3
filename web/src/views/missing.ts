// What has no measurements, or fewer than planned, and why: it is never left out in silence.

import { h } from "../dom.ts";
import { plural } from "../format.ts";
import type { Configuration } from "../document.ts";
import * as names from "../names.ts";
import type { State } from "../state.ts";

/** Why a configuration lacks measurements; `undefined` if it lacks none. */
export function trouble({ unavailable, failures, missing, replicates, metrics }: Configuration): string | undefined {
  if (unavailable !== null) return `unavailable: ${unavailable}`;
  const of = `of ${plural(replicates, "replicate")}`;
  const troubles = missing > 0 ? [`${missing} ${of} not executed yet`] : [];
  if (failures.length > 0) {
    const reasons = [...new Set(failures.map(({ reason }) => reason))];
    const each = reasons.length === 1
      ? reasons[0]
      : failures.map(({ replicate, reason }) => `#${replicate} ${reason}`).join("; ");
    troubles.push(`${failures.length} ${of} failed: ${each}`);
  }
  if (troubles.length > 0) return troubles.join("; ");
  return metrics.length === 0 ? "not measured" : undefined;
}

export function missing(state: State, into: HTMLElement): void {
  const lists = new Map<string, { kernel: string; reason: string; modes: string[] }>();
  for (const { configuration } of state.entries) {
    const reason = trouble(configuration);
    if (reason === undefined) continue;
    const kernel = names.kernel(configuration);
    const key = `${kernel}\n${reason}`;
    const list = lists.get(key) ?? { kernel, reason, modes: [] };
    list.modes.push(configuration.preempt);
    lists.set(key, list);
  }
  into.hidden = lists.size === 0;
  into.replaceChildren(
    h("h3", {}, "Missing here"),
    h("ul", {}, ...[...lists.values()].map(({ kernel, modes, reason }) =>
      h("li", {}, h("strong", {}, `${kernel} ${modes.join(", ")}`), ` ${reason}`)
    )),
  );
}
