// Numbers and units as the page writes them, the same in every locale.

/** Four significant digits from 1,000 on, three below, or as many as are asked for if that is more; `–`
 * for what is no number. */
export function number(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const rounded = Number(value.toPrecision(size >= 1000 ? Math.max(4, digits) : digits));
  const [whole = "", fraction] = (Math.abs(rounded) < 1e-6 && rounded !== 0 ? value.toExponential(2) : plain(rounded)).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

function plain(value: number): string {
  return Math.abs(value) >= 1e21 ? value.toExponential(2) : value.toLocaleString("en", { useGrouping: false, maximumFractionDigits: 9 });
}

/** `3,789–4,926`. */
export function range([low, high]: [number, number]): string {
  const [from, to] = [number(low), number(high)];
  return from === to ? from : `${from}–${to}`;
}

/** `×0.77`. */
export function ratio(value: number): string {
  return `×${value < 10 ? value.toFixed(value < 0.1 ? 3 : 2) : number(value)}`;
}

/** `0.70–0.81`. */
export function ratioRange([low, high]: [number, number]): string {
  const [from, to] = [ratio(low), ratio(high)];
  return (from === to ? from : `${from}–${to.slice(1)}`).slice(1);
}

export function unit(name: string): string {
  return name === "us" ? "µs" : name;
}

/** `8 %`, `0.03 %`. */
export function share(value: number): string {
  return `${number(100 * value)} %`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** Short enough for a plot's label. */
export function shortened(text: string, length: number): string {
  const characters = [...text.replace(/\s+/g, " ")];
  return characters.length <= length ? characters.join("") : `${characters.slice(0, length - 1).join("")}…`;
}
