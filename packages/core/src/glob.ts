/** Remaining comparisons of a character with a place of a glob. */
export interface MatchEffort {
  stepsLeft: number;
}

/**
 * `one` matches one character, `run` any number of characters, `folders` zero or more whole folders with their
 * slashes.
 */
export type GlobToken =
  | { readonly type: "one"; readonly takes: (character: string) => boolean }
  | { readonly type: "run"; readonly takes: (character: string) => boolean }
  | { readonly type: "folders" };

export const anyCharacter = () => true;
export const noSlash = (character: string) => character !== "/";

/** Walks the path once with all possible places of the glob, so that no glob takes exponential time. */
export function matchesGlob(tokens: readonly GlobToken[], path: string, effort: MatchEffort): boolean {
  let places = new Set<number>();
  stand({ places, reached: new Set() }, tokens, 0);
  for (const character of path) {
    effort.stepsLeft -= places.size;
    if (effort.stepsLeft < 0) return false;
    const next: Standing = { places: new Set(), reached: new Set() };
    for (const place of places) {
      const token = tokens[place];
      if (token === undefined) continue;
      if (token.type === "folders") {
        // Inside a folder, only its end can advance to the next token.
        next.places.add(place);
        if (character === "/") stand(next, tokens, place + 1);
      } else if (token.takes(character)) stand(next, tokens, token.type === "run" ? place : place + 1);
    }
    places = next.places;
    if (places.size === 0) return false;
  }
  return places.has(tokens.length);
}

interface Standing {
  readonly places: Set<number>;
  /** Places whose successors have been added too. */
  readonly reached: Set<number>;
}

/** Adds a place, and all later places that can be reached without a character. */
function stand({ places, reached }: Standing, tokens: readonly GlobToken[], from: number): void {
  for (let place = from; !reached.has(place); place += 1) {
    reached.add(place);
    places.add(place);
    const token = tokens[place];
    if (token === undefined || token.type === "one") return;
  }
}
