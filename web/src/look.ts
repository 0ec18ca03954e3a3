// The colours of the plots. Modes are told apart with the common kinds of colour blindness too,
// and every colour has a contrast of 3 or more to the page.

export interface Look {
  dark: boolean;
  page: string;
  ink: string;
  faint: string;
  grid: string;
  front: string;
  modes: Record<string, string>;
  otherMode: string;
}

const LIGHT: Look = {
  dark: false,
  page: "#ffffff",
  ink: "#1f2328",
  faint: "#59636e",
  grid: "#e1e5ea",
  front: "#8c959f",
  modes: { none: "#24292f", voluntary: "#c77400", full: "#0068c9", lazy: "#009478" },
  otherMode: "#a2428a",
};

const DARK: Look = {
  dark: true,
  page: "#0d1117",
  ink: "#e6edf3",
  faint: "#9ea7b3",
  grid: "#2a313a",
  front: "#7d8590",
  modes: { none: "#e6edf3", voluntary: "#f5a623", full: "#4a9eff", lazy: "#2fc3a0" },
  otherMode: "#e58bc0",
};

const dark = matchMedia("(prefers-color-scheme: dark)");
let printing = false;

/** Paper is light whatever the screen is. */
export function look(): Look {
  return dark.matches && !printing ? DARK : LIGHT;
}

export function modeColor(of: Look, mode: string): string {
  return Object.hasOwn(of.modes, mode) ? of.modes[mode] as string : of.otherMode;
}

/** The same for elements outside plots: it follows the colours without being drawn again. */
export function modeVariable(mode: string): string {
  return `var(--mode-${Object.hasOwn(LIGHT.modes, mode) ? mode : "other"})`;
}

function setVariables(): void {
  const { modes, otherMode } = look();
  for (const [mode, color] of Object.entries({ ...modes, other: otherMode })) {
    document.documentElement.style.setProperty(`--mode-${mode}`, color);
  }
}

/** Calls back when the colours change, and with the width of the paper when it is printed. */
export function onLook(changed: (paperWidth: number | undefined) => void): void {
  setVariables();
  dark.addEventListener("change", () => {
    setVariables();
    changed(undefined);
  });
  const print = (on: boolean) => () => {
    if (printing === on) return;
    printing = on;
    setVariables();
    changed(on ? 680 : undefined);
  };
  addEventListener("beforeprint", print(true));
  addEventListener("afterprint", print(false));
  matchMedia("print").addEventListener("change", (event) => print(event.matches)());
}
