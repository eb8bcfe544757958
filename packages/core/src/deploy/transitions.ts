/** For each state, the states that may follow. A state without any is final. */
export type Transitions<State extends string> = Readonly<Record<State, readonly State[]>>;

export function statesOf<State extends string>(transitions: Transitions<State>) {
  const mayBecome = (from: State, to: State): boolean => transitions[from].includes(to);
  // The record has no other keys.
  const states = Object.keys(transitions) as State[];
  return {
    mayBecome,
    isTerminal: (state: State): boolean => transitions[state].length === 0,
    /** The states that may precede `to`, for the `where status in (...)` of an update. */
    sourcesOf: (to: State): readonly State[] => states.filter((from) => mayBecome(from, to)),
  };
}
