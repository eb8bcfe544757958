import { DomainError } from "@berth/core";

/**
 * Reads an engine's progress report: one JSON value per line.
 * @throws DomainError `engine.unreachable` for other data: as after a lost connection, nobody knows the rest
 */
export async function* jsonLines(stream: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  let open = "";
  for await (const chunk of stream) {
    const lines = `${open}${String(chunk)}`.split("\n");
    open = lines.pop() ?? "";
    if (open.length > LINE_LENGTH_MAX) throw unknownForm();
    for (const line of lines) if (line.trim() !== "") yield parsed(line);
  }
  if (open.trim() !== "") yield parsed(open);
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw unknownForm(cause);
  }
}

const unknownForm = (cause?: unknown): DomainError =>
  new DomainError(
    "engine.unreachable",
    "The engine sent a report in an unknown format. Check that it is a Docker engine.",
    { cause },
  );

/** Far above any line of such a report. */
const LINE_LENGTH_MAX = 1 << 20;
