/** From each state: where it may go from there, and nowhere else. One that leads nowhere is an end. */
export type Transitions<State extends string> = Readonly<Record<State, readonly State[]>>;

export function statesOf<State extends string>(transitions: Transitions<State>) {
  const mayBecome = (from: State, to: State): boolean => transitions[from].includes(to);
  // A record of these keys only.
  const states = Object.keys(transitions) as State[];
  return {
    mayBecome,
    isTerminal: (state: State): boolean => transitions[state].length === 0,
    /** The states from which `to` may be reached, for the `where status in (...)` of an update. */
    sourcesOf: (to: State): readonly State[] => states.filter((from) => mayBecome(from, to)),
  };
}
