// Elements are made of text nodes alone: nothing here reads HTML.

export type Child = Node | string | undefined | false;
type Attribute = string | number | boolean | undefined | ((event: never) => void);

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, Attribute> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      element.addEventListener(name, value as unknown as EventListener);
    } else if (value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...children.filter((child): child is Node | string => child !== undefined && child !== false));
  return element;
}

/** A labelled choice. */
export function select(
  label: string,
  choices: { value: string; text: string; group?: string }[],
  chosen: string,
  change: (value: string) => void,
): HTMLLabelElement {
  const element = h("select", { "aria-label": label, change: () => change(element.value) });
  const groups = new Map<string, HTMLOptGroupElement>();
  for (const { value, text, group } of choices) {
    const option = h("option", { value, selected: value === chosen }, text);
    if (group === undefined) {
      element.append(option);
      continue;
    }
    if (!groups.has(group)) {
      groups.set(group, h("optgroup", { label: group }));
      element.append(groups.get(group) as Node);
    }
    groups.get(group)?.append(option);
  }
  return h("label", { class: "choice" }, h("span", {}, label), element);
}

/** Buttons of which one is pressed. */
export function switcher(
  label: string,
  choices: { value: string; text: string }[],
  chosen: string,
  change: (value: string) => void,
): HTMLElement {
  const buttons = choices.map(({ value, text }) =>
    h("button", {
      type: "button",
      "aria-pressed": String(value === chosen),
      click: () => {
        buttons.forEach((button, at) => button.setAttribute("aria-pressed", String(choices[at]?.value === value)));
        change(value);
      },
    }, text)
  );
  return h("div", { class: "switcher", role: "group", "aria-label": label }, ...buttons);
}
