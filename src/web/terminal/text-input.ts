/**
 * The element that has the keyboard's focus: dead keys, AltGr, input methods and a phone's keyboard put text here, and
 * pastes arrive here. It is positioned at the cursor, so that the windows of input methods open there, and always
 * contains only one character, so that a phone's Backspace is an event too.
 *
 * Invariant: each input is reported once, for any sequence of events that a browser sends.
 */
interface TextInputEvents {
  /** @returns whether the key was taken */
  key(event: KeyboardEvent): boolean;
  text(text: string): void;
  /** A phone's keyboard reports these without a key. */
  namedKey(name: "Backspace" | "Delete" | "Enter"): void;
  paste(text: string): void;
  image(file: Blob): void;
  /** The browser does not let the page read the clipboard. */
  clipboardUnreadable(): void;
  focus(on: boolean): void;
  composing(on: boolean): void;
}

/** The element's content while nothing is composed: a character that Backspace can delete. */
const PLACEHOLDER_TEXT = "\u00a0";

const deletions: Readonly<Record<string, "Backspace" | "Delete">> = {
  deleteContentBackward: "Backspace",
  deleteWordBackward: "Backspace",
  deleteContentForward: "Delete",
};

export class TextInput {
  readonly element = document.createElement("textarea");
  private composing = false;
  /** Text of a finished composition, which browsers report again as input. */
  private composed: string | null = null;

  constructor(private readonly events: TextInputEvents) {
    const { element } = this;
    element.className = "text-input";
    element.spellcheck = false;
    element.setAttribute("autocapitalize", "off");
    element.setAttribute("autocomplete", "off");
    element.setAttribute("autocorrect", "off");
    element.setAttribute("aria-label", "Terminal input");
    element.value = PLACEHOLDER_TEXT;
    element.addEventListener("keydown", (event) => {
      this.composed = null;
      if (!event.isComposing && events.key(event)) event.preventDefault();
    });
    element.addEventListener("beforeinput", (event) => this.beforeInput(event));
    element.addEventListener("input", () => {
      if (!this.composing) this.reset();
    });
    element.addEventListener("compositionstart", () => this.compose(true));
    element.addEventListener("compositionend", ({ data }) => {
      this.compose(false);
      if (data !== "") events.text(data);
      this.composed = data;
      this.reset();
    });
    element.addEventListener("paste", (event) => {
      event.preventDefault();
      const text = event.clipboardData?.getData("text/plain") ?? "";
      const image = [...(event.clipboardData?.files ?? [])].find(({ type }) => type.startsWith("image/"));
      if (text !== "") events.paste(text);
      else if (image !== undefined) events.image(image);
      // A paste of plain text (Ctrl+Shift+V) withholds an image.
      else if (event.clipboardData?.types.length === 0) void this.paste();
    });
    element.addEventListener("focus", () => events.focus(true));
    element.addEventListener("blur", () => {
      this.compose(false);
      this.reset();
      events.focus(false);
    });
    this.reset();
  }

  focus(): void {
    this.element.focus({ preventScroll: true });
    // Chromium types nothing into an element that was beneath a dialog and regained its focus, until its content is
    // selected.
    this.reset();
  }

  /** Pastes the clipboard's text, or else its image. */
  async paste(): Promise<void> {
    try {
      const [item] = await navigator.clipboard.read();
      const content = await item?.getType(item.types.find((type) => /^(text\/plain|image\/)/.test(type)) ?? "");
      if (content?.type.startsWith("image/") === true) this.events.image(content);
      else this.events.paste((await content?.text()) ?? "");
    } catch {
      this.events.clipboardUnreadable();
    }
  }

  private compose(on: boolean): void {
    if (this.composing === on) return;
    this.composing = on;
    if (on) this.element.value = "";
    this.element.classList.toggle("composing", on);
    this.events.composing(on);
  }

  private beforeInput(event: InputEvent): void {
    const { inputType, data } = event;
    if (this.composing || inputType === "insertCompositionText" || inputType === "insertFromComposition") return;
    event.preventDefault();
    const again = this.composed;
    this.composed = null;
    const deletion = deletions[inputType];
    if (deletion !== undefined) this.events.namedKey(deletion);
    else if (inputType === "insertLineBreak" || inputType === "insertParagraph") this.events.namedKey("Enter");
    else if (inputType === "insertFromPaste" || inputType === "insertFromDrop") {
      const text = data ?? event.dataTransfer?.getData("text/plain") ?? "";
      if (text !== "") this.events.paste(text);
    } else if (data !== null && data !== "" && data !== again) this.events.text(data);
  }

  private reset(): void {
    if (this.composing) return;
    this.element.value = PLACEHOLDER_TEXT;
    this.element.setSelectionRange(PLACEHOLDER_TEXT.length, PLACEHOLDER_TEXT.length);
  }
}
