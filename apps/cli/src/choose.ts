import leven from "leven";
import { EXIT, Failure, usage } from "./failure.ts";
import { printable } from "./printable.ts";

/** An object with a name for users and a uuid. */
export interface Candidate {
  readonly uuid: string;
  readonly name: string;
}

export interface ChooseOptions<T> {
  /** Kind of object, such as `application`. */
  readonly thing: string;
  /** What a candidate has in place of a uuid, such as `number`. */
  readonly id?: string;
  /** Distinguishes candidates with the same name: `Shop/production`. */
  readonly describe?: (candidate: T) => string;
}

const CANDIDATES_SHOWN = 10;

/**
 * The candidate with this uuid or name. Case is ignored in names, unless that makes them ambiguous.
 *
 * @throws Failure that lists similar candidates
 */
export function choose<T extends Candidate>(wanted: string, candidates: readonly T[], options: ChooseOptions<T>): T {
  const found = matchingCandidates(wanted, candidates);
  const [only, ...others] = found;
  if (only && others.length === 0) return only;
  if (only) throw ambiguous(wanted, found, options);
  throw unknown(wanted, candidates, options);
}

/** The one that is called so; without a name, the only one. @throws Failure that lists the candidates */
export function chooseOnly<T extends Candidate>(
  wanted: string | undefined,
  candidates: readonly T[],
  thing: string,
): T {
  const [only, ...others] = candidates;
  if (wanted !== undefined) return choose(wanted, candidates, { thing });
  if (only === undefined) throw usage(`There is nothing to choose: no ${thing}.`);
  if (others.length === 0) return only;
  const names = candidates.map(({ name }) => printable(name)).join(", ");
  throw usage(`There are several ${thing}s: ${names}. Name one with --${thing}.`);
}

/** How a command that is shown names it: by its name where that is a plain word and means nothing else. */
export function nameInCommand(wanted: Candidate, candidates: readonly Candidate[]): string {
  const isPlain = /^[\p{L}\p{N}][\p{L}\p{N}._-]*$/u.test(wanted.name);
  const isOnly = matchingCandidates(wanted.name, candidates).every(({ uuid }) => uuid === wanted.uuid);
  return isPlain && isOnly ? wanted.name : wanted.uuid;
}

/** Candidates that match a uuid or a name. */
export function matchingCandidates<T extends Candidate>(wanted: string, candidates: readonly T[]): readonly T[] {
  const byUuid = candidates.find(({ uuid }) => uuid === wanted);
  if (byUuid) return [byUuid];
  const exact = candidates.filter(({ name }) => name === wanted);
  return exact.length > 0 ? exact : candidates.filter(({ name }) => sameName(name, wanted));
}

const sameName = (one: string, other: string) => one.toLowerCase() === other.toLowerCase();

function ambiguous<T extends Candidate>(wanted: string, found: readonly T[], options: ChooseOptions<T>): Failure {
  return new Failure(
    `${found.length} ${options.thing}s are called ${printable(wanted)}. Name one by its ${options.id ?? "uuid"}:`,
    {
      exitCode: EXIT.usage,
      details: found.slice(0, CANDIDATES_SHOWN).map((candidate) => line(candidate, options)),
    },
  );
}

function unknown<T extends Candidate>(wanted: string, candidates: readonly T[], options: ChooseOptions<T>): Failure {
  const near = nearest(wanted, candidates);
  const [best] = near;
  const shown = (best ? near : candidates).slice(0, CANDIDATES_SHOWN);
  const hidden = (best ? near : candidates).length - shown.length;
  return new Failure(
    `No ${options.thing} is called ${printable(wanted)}.${best ? ` Did you mean ${printable(best.name)}?` : ""}`,
    {
      exitCode: EXIT.usage,
      details: [...shown.map((candidate) => line(candidate, options)), ...(hidden > 0 ? [`and ${hidden} more`] : [])],
    },
  );
}

/** Candidates with a name like the wanted one, the closest first. */
export const nearest = <T extends Pick<Candidate, "name">>(wanted: string, candidates: readonly T[]): readonly T[] =>
  candidates
    .map((candidate) => ({ candidate, distance: leven(candidate.name.toLowerCase(), wanted.toLowerCase()) }))
    .filter(({ candidate, distance }) => distance <= typosMax(candidate.name) || resembles(candidate.name, wanted))
    .sort((one, other) => one.distance - other.distance)
    .map(({ candidate }) => candidate);

/** Swapping two letters counts as two typos. */
const typosMax = (name: string) => Math.max(name.length > 2 ? 2 : 1, name.length / 3);

/** One is a prefix of the other. */
const resembles = (name: string, wanted: string) =>
  wanted.length > 1 && name.toLowerCase().startsWith(wanted.toLowerCase());

const line = <T extends Candidate>(candidate: T, { describe }: ChooseOptions<T>): string =>
  [candidate.uuid, printable(candidate.name), ...(describe ? [printable(describe(candidate))] : [])].join("  ");
