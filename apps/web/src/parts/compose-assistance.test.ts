import { CompletionContext } from "@codemirror/autocomplete";
import { EditorState } from "@codemirror/state";
import { describe, expect, it } from "vitest";
import { completeKey, composeDiagnostics } from "./compose-assistance.ts";

/** Names of the keys that are offered at `|`. */
function offeredAt(text: string, isAsked = false): readonly string[] {
  const state = EditorState.create({ doc: text.replace("|", "") });
  const found = completeKey(new CompletionContext(state, text.indexOf("|"), isAsked));
  return found?.options.map(({ label }) => label) ?? [];
}

describe("completion in a compose file", () => {
  it.each([
    ["ser|", "services"],
    ["services:\n  web:\n    im|", "image"],
    ["services:\n  web:\n    image: nginx\n\n    # The port\n    ports:\n      - 80:80\n    hea|", "healthcheck"],
    ["services:\n  web:\n    build:\n      docker|", "dockerfile"],
    ['services:\n  "web":\n    image: nginx\nvolumes:\n  data:\n    dri|', "driver"],
  ])("offers in %j the key %s", (text, key) => {
    expect(offeredAt(text)).toContain(key);
  });

  it.each(["services:\n  we|", "services:\n  web:\n    image: ngi|", "services:\n  web:\n    ports:\n      - 8|", "|"])(
    "offers nothing in %j",
    (text) => {
      expect(offeredAt(text)).toEqual([]);
    },
  );

  it("offers all keys of an empty line where they are asked for", () => {
    expect(offeredAt("services:\n  web:\n    |", true)).toEqual(expect.arrayContaining(["image", "volumes"]));
  });
});

describe("problems of a compose file", () => {
  const underlined = (text: string) =>
    composeDiagnostics(EditorState.create({ doc: text })).map(({ from, to, message }) => [
      text.slice(from, to),
      message,
    ]);

  it("are underlined where they are, with line and column", () => {
    const [[word, message] = []] = underlined("services:\n  web:\n    image: nginx\n    prots:\n      - 80:80\n");
    expect(word).toBe("prots");
    expect(message).toMatch(/Unknown key; ports is probably meant.*line 4, column 5/);
  });

  it("are the whole line where no word is wrong, and none in a file that is right or empty", () => {
    expect(underlined("services:\n  web: [").map(([text]) => text)).toEqual(["  web: ["]);
    expect(underlined("volumes: {}").map(([text]) => text)).toEqual(["volumes"]);
    expect(underlined("services:\n  web:\n    image: nginx\n")).toEqual([]);
    expect(underlined("\n")).toEqual([]);
  });
});
