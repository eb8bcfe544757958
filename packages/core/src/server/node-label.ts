import { z } from "zod";
import { isNodeLabelValue } from "../application/node-placement.ts";

/** Whether Berth sets it itself, such as where the data of a storage is. */
export const isOwnLabel = (name: string): boolean => /^berth\./i.test(name);
const LABELS_MAX = 50;

const LabelName = z
  .string()
  .max(128)
  .regex(/^[a-zA-Z_][a-zA-Z0-9_.-]*$/, "Must be letters, digits, dots, hyphens and underscores, such as zone.")
  .refine((name) => !isOwnLabel(name), "Names that begin with berth. are Berth's own. Choose another name.");
const LabelValue = z
  .string()
  .max(255)
  .refine(
    (value) => value === "" || isNodeLabelValue(value),
    "Has a character that no constraint could name. Use letters, digits, dots and hyphens.",
  );

export const NodeLabelChange = z
  .record(LabelName, LabelValue.nullable())
  .refine((labels) => Object.keys(labels).length <= LABELS_MAX, `Limit reached: at most ${LABELS_MAX} labels at once.`)
  .describe("Sets these labels and removes those that are null. Others stay. For `node.labels.NAME` in constraints.");
export type NodeLabelChange = z.infer<typeof NodeLabelChange>;

/** Labels as they are shown and typed, such as `zone=a`, by name. */
export const labelTexts = (labels: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .toSorted();

/** Name and value of a text such as `zone=a`; `undefined` for another one. */
export function readLabel(text: string): readonly [name: string, value: string] | undefined {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  return name === undefined || value === undefined ? undefined : [name.trim(), value.trim()];
}
