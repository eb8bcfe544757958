import type { PropsWithChildren } from "react";

/** The buttons of a table's row: beside each other, or below where the screen is too narrow for all columns. */
export function RowActions({ children }: PropsWithChildren) {
  return <div className="row-actions">{children}</div>;
}
