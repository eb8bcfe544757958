import { NodeLabelChange } from "@berth/core/server";
import { z } from "zod";

type Labels = Readonly<Record<string, string>>;

/** One label a line, as they are edited. */
export const labelLines = (labels: Labels): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .toSorted()
    .join("\n");

const LENGTH_MAX = 20_000;

/** The edited text, whose rules are those of the labels. */
export const LabelLines = z.object({
  labels: z
    .string()
    .max(LENGTH_MAX)
    .superRefine((text, context) => {
      for (const message of problemsOf(text)) context.addIssue({ code: "custom", message });
    })
    .nullable()
    .describe("One a line, such as zone=a. Conditions of applications choose nodes by them: node.labels.zone == a"),
});

function problemsOf(text: string): readonly string[] {
  const odd = linesOf(text).filter((line) => !/^[^=]+=./.test(line));
  if (odd.length > 0) return odd.map((line) => `${line} must have the form NAME=VALUE.`);
  const { error } = NodeLabelChange.safeParse(readLines(text));
  return (error?.issues ?? []).map(({ path: [name], message, ...issue }) => {
    const said = issue.code === "invalid_key" ? (issue.issues[0]?.message ?? message) : message;
    return name === undefined ? said : `${String(name)}: ${said}`;
  });
}

/** What has to be sent so that a node has the labels of the text and no others. */
export const labelChange = (before: Labels, text: string | null): NodeLabelChange => {
  const now = readLines(text ?? "");
  const removed = Object.keys(before).filter((name) => now[name] === undefined);
  const set = Object.entries(now).filter(([name, value]) => before[name] !== value);
  return { ...Object.fromEntries(removed.map((name) => [name, null])), ...Object.fromEntries(set) };
};

const linesOf = (text: string): readonly string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

const readLines = (text: string): Labels =>
  Object.fromEntries(
    linesOf(text).map((line) => {
      const at = line.indexOf("=");
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
