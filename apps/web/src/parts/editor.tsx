import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import { composeAssistance } from "./compose-assistance.ts";

interface EditorProps {
  readonly label: string;
  /** Initial text; a changed one restarts the editor. */
  readonly text: string;
  readonly onChange: (text: string) => void;
}

const COLOURS = HighlightStyle.define([
  { tag: tags.propertyName, color: "light-dark(#1864ab, #74c0fc)" },
  { tag: tags.string, color: "light-dark(#2b6b32, #8ce99a)" },
  { tag: [tags.number, tags.bool, tags.keyword], color: "light-dark(#862e9c, #e599f7)" },
  { tag: tags.comment, color: "light-dark(#5c636a, #a6a7ab)" },
]);
const LOOK = EditorView.theme({
  "&": { color: "inherit", backgroundColor: "transparent" },
  ".cm-content": { caretColor: "currentColor" },
  ".cm-cursor": { borderLeftColor: "currentColor" },
  ".cm-gutters": { backgroundColor: "transparent", color: "light-dark(#5c636a, #a6a7ab)", border: "none" },
  ".cm-tooltip": {
    color: "inherit",
    backgroundColor: "var(--mantine-color-body)",
    border: "1px solid var(--mantine-color-default-border)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    color: "light-dark(#000, #fff)",
    backgroundColor: "light-dark(#dbe4ff, #364fc7)",
  },
  ".cm-activeLine": { backgroundColor: "light-dark(#00000008, #ffffff0a)" },
});

/** An editor of compose files. Escape followed by Tab leaves it by keyboard. */
export default function Editor({ label, text, onChange }: EditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const changed = useRef(onChange);
  changed.current = onChange;
  useEffect(() => {
    if (place.current === null) return;
    const view = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(),
          history(),
          drawSelection(),
          highlightActiveLine(),
          highlightSelectionMatches(),
          yaml(),
          composeAssistance(),
          syntaxHighlighting(COLOURS),
          LOOK,
          keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, indentWithTab]),
          EditorView.contentAttributes.of({ "aria-label": label }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) changed.current(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.scrollDOM.tabIndex = 0; // A scrollable area must be focusable for keyboard users.
    return () => view.destroy();
  }, [text, label]);
  return <div ref={place} className="editor" />;
}
