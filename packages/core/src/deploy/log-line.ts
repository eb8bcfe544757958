/** In place of a container's name: all of a release, whose output is read as one log. */
export const ALL_CONTAINERS = "*";

/** A line as people read it, with its container where the log is that of several. */
export const namedLine = ({
  container,
  line,
}: {
  readonly container?: string | undefined;
  readonly line: string;
}): string => (container === undefined ? line : `${container} | ${line}`);
