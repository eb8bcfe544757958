/** A line as people read it, with its container where the log is that of several. */
export const namedLine = ({
  container,
  line,
}: {
  readonly container?: string | undefined;
  readonly line: string;
}): string => (container === undefined ? line : `${container} | ${line}`);
