import { labelTexts, NodeLabelChange, readLabel } from "@berth/core/server";
import { z } from "zod";

type Labels = Readonly<Record<string, string>>;

const LENGTH_MAX = 20_000;

/** The labels of a node as lines to edit. The rules are those of the labels that change: others may be older. */
export const labelLines = (before: Labels) =>
  z.object({
    labels: z
      .string()
      .max(LENGTH_MAX)
      .superRefine((text, context) => {
        for (const message of problemsOf(before, text)) context.addIssue({ code: "custom", message });
      })
      .nullable()
      .describe("One a line, such as zone=a. Conditions of applications choose nodes by them: node.labels.zone == a"),
  });

function problemsOf(before: Labels, text: string): readonly string[] {
  const odd = linesOf(text).filter((line) => readLabel(line) === undefined);
  if (odd.length > 0) return odd.map((line) => `${line} must have the form NAME=VALUE.`);
  const { error } = NodeLabelChange.safeParse(labelChange(before, text));
  return (error?.issues ?? []).map(({ path: [name], message, ...issue }) => {
    const said = issue.code === "invalid_key" ? (issue.issues[0]?.message ?? message) : message;
    return name === undefined ? said : `${String(name)}: ${said}`;
  });
}

export const labelText = (labels: Labels): string => labelTexts(labels).join("\n");

/** What has to be sent so that a node has the labels of the text and no others. */
export function labelChange(before: Labels, text: string | null): NodeLabelChange {
  const now: Labels = Object.fromEntries(
    linesOf(text ?? "")
      .map(readLabel)
      .filter((label) => label !== undefined),
  );
  const removed = Object.keys(before).filter((name) => now[name] === undefined);
  const set = Object.entries(now).filter(([name, value]) => before[name] !== value);
  return { ...Object.fromEntries(removed.map((name) => [name, null])), ...Object.fromEntries(set) };
}

const linesOf = (text: string): readonly string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
