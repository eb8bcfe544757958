import { composeKeysAt, parseNewCompose, placeInProblem } from "@berth/core/compose";
import { autocompletion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { type Diagnostic, linter, lintKeymap } from "@codemirror/lint";
import type { EditorState, Extension, Text } from "@codemirror/state";
import { keymap } from "@codemirror/view";

/** Offers the keys of compose files, and underlines what the server would refuse in one. F8 leads to the next problem. */
export const composeAssistance = (): Extension => [
  autocompletion({ override: [completeKey], icons: false }),
  linter(({ state }) => composeDiagnostics(state)),
  keymap.of(lintKeymap),
];

/** The keys that may stand where one is being written. */
export function completeKey(context: CompletionContext): CompletionResult | null {
  const word = context.matchBefore(/^[ ]*[\w-]*/);
  const line = context.state.doc.lineAt(context.pos);
  if (word === null || word.from !== line.from) return null;
  const indent = word.text.length - word.text.trimStart().length;
  if (word.text.length === indent && !context.explicit) return null;
  const options = composeKeysAt(pathAbove(context.state.doc, line.number, indent)).map(({ name, note }) => ({
    ...{ label: name, apply: `${name}: `, type: "property" },
    ...(note !== undefined && { info: note }),
  }));
  return options.length === 0 ? null : { from: word.from + indent, options, validFor: /^[\w-]*$/ };
}

/** The keys that a line is below, from the top, by their indentation: the file may not be valid yet. */
function pathAbove(doc: Text, lineNumber: number, indent: number): readonly string[] {
  const path: string[] = [];
  let width = indent;
  for (let number = lineNumber - 1; number > 0 && width > 0; number -= 1) {
    const [, spaces = "", key = ""] = /^( *)([^\s#][^:]*)/.exec(doc.line(number).text) ?? [];
    if (key === "" || spaces.length >= width) continue;
    width = spaces.length;
    path.unshift(key.trim().replace(/^["']|["']$/g, ""));
  }
  return path;
}

/** What is wrong with a compose file, each where it is. */
export function composeDiagnostics({ doc }: EditorState): readonly Diagnostic[] {
  const text = doc.toString();
  const compose = text.trim() === "" ? undefined : parseNewCompose(text);
  if (compose === undefined || !("problems" in compose)) return [];
  return compose.problems.map((message) => {
    const { line, column } = placeInProblem(message) ?? { line: 1, column: 1 };
    const { from: start, to: end, text: written } = doc.line(Math.min(line, doc.lines));
    const from = Math.min(start + column - 1, end);
    const [word = ""] = /^[^\s:]+/.exec(written.slice(from - start)) ?? [];
    // Where no word begins, such as at the end of the file, the whole line is meant.
    const range = word === "" ? { from: start, to: end } : { from, to: from + word.length };
    return { ...range, severity: "error", message };
  });
}
