import { type ReactNode, useDeferredValue } from "react";

/**
 * Draws its children in slices between which the page reacts. What the answer of a query changes is otherwise drawn in
 * one piece, since a store outside of React has changed.
 */
export function InSlices({ children }: { readonly children: ReactNode }) {
  const isBegun = useDeferredValue(true, false);
  return isBegun ? children : null;
}
