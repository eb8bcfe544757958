import { z } from "zod";
import type { ReleasePlacement } from "../deploy/release.ts";

const CONSTRAINTS_MAX = 20;
const CONSTRAINT_LENGTH_MAX = 255;

/** Settings for where an application runs in a cluster. */
export const PLACEMENT_SETTINGS = {
  swarm_placement_constraints: z
    .string()
    .max(CONSTRAINTS_MAX * (CONSTRAINT_LENGTH_MAX + 1))
    .nullable()
    .default(null)
    .describe(
      "Conditions for the nodes that it may run on, one per line, such as `node.labels.zone == a` or `node.hostname != web-2`. Only on servers that manage a Docker Swarm.",
    ),
  is_swarm_only_worker_nodes: z
    .boolean()
    .default(true)
    .describe(
      "Run it on worker nodes alone, where its Docker Swarm has any and no constraint names node.role. No effect on other servers.",
    ),
};

type Settings = { readonly [Key in keyof typeof PLACEMENT_SETTINGS]: z.infer<(typeof PLACEMENT_SETTINGS)[Key]> };

/** Problems of the constraints, by field. Swarm accepts unknown keys, and then starts nothing. */
export function placementProblems(settings: Partial<Settings>): Readonly<Record<string, readonly string[]>> {
  const lines = linesOf(settings.swarm_placement_constraints ?? null);
  const problems = [...readConstraints(lines).problems];
  if (lines.length > CONSTRAINTS_MAX) problems.unshift(`Limit reached: at most ${CONSTRAINTS_MAX} constraints.`);
  return problems.length === 0 ? {} : { swarm_placement_constraints: problems };
}

export function placementOf(settings: Settings): ReleasePlacement {
  const { constraints } = readConstraints(linesOf(settings.swarm_placement_constraints));
  return {
    constraints,
    // A constraint for managers would otherwise fit no node.
    isOnlyOnWorkers: settings.is_swarm_only_worker_nodes && !constraints.some((one) => /^node\.role[=!]/.test(one)),
  };
}

export interface ReadConstraints {
  /** The valid ones, in Swarm's form. */
  readonly constraints: readonly string[];
  /** A sentence about each of the others. */
  readonly problems: readonly string[];
}

export function readConstraints(lines: readonly string[]): ReadConstraints {
  const read = lines.map(readConstraint);
  return {
    constraints: read.flatMap((one) => ("problem" in one ? [] : `${one.key}${one.operator}${one.value}`)),
    problems: read.flatMap((one) => ("problem" in one ? one.problem : [])),
  };
}

const linesOf = (text: string | null): readonly string[] =>
  (text ?? "")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

type Constraint = { readonly key: string; readonly operator: string; readonly value: string };

function readConstraint(line: string): Constraint | { readonly problem: string } {
  if (line.length > CONSTRAINT_LENGTH_MAX) {
    return {
      problem: `Limit reached: at most ${CONSTRAINT_LENGTH_MAX} characters in a line. ${quoted(line)} is longer.`,
    };
  }
  const [, key = "", operator = "", value = ""] = /^([^=!]*?)\s*(==|!=)\s*(.*)$/.exec(line) ?? [];
  if (operator === "") return { problem: `${quoted(line)} must have the form KEY == VALUE or KEY != VALUE.` };
  if (!KEYS.includes(key) && !LABEL_KEY.test(key)) {
    return {
      problem: `${quoted(line)} has an unknown key. Use one of ${KEYS.join(", ")}, node.labels.NAME, engine.labels.NAME.`,
    };
  }
  if (!VALUE.test(value)) return { problem: `${quoted(line)} has a value that Docker Swarm does not accept.` };
  if (key === ROLE && !ROLES.includes(value)) return { problem: `${quoted(line)} must name ${ROLES.join(" or ")}.` };
  return { key, operator, value };
}

const quoted = (line: string) => `"${line.length > 60 ? `${line.slice(0, 60)}…` : line}"`;

const ROLE = "node.role";
const ROLES: readonly string[] = ["manager", "worker"];
const KEYS: readonly string[] = [
  ...["node.id", "node.hostname", "node.ip", ROLE],
  ...["node.platform.os", "node.platform.arch"],
];
// The characters that Swarm itself accepts, apart from line ends.
const LABEL_KEY = /^(node|engine)\.labels\.[a-z0-9_.-]+$/i;
/** Whether a constraint can name this value of a label. */
export const isNodeLabelValue = (value: string): boolean => value === value.trim() && VALUE.test(value);
const VALUE = /^[a-z0-9:\-_ .*()?+[\]\\^$|/]+$/i;
