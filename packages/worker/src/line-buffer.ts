import type { DrainedLine } from "@berth/core/server";

export interface BufferedLine {
  readonly deploymentId: number;
  readonly resourceId: number;
  /** Since when its resource is drained. */
  readonly since: Date;
  /** Position behind it in the log of its release. */
  readonly cursor: string;
  readonly line: DrainedLine;
}

/**
 * Lines on their way to a log drain. While it is full, readers wait, so that further lines stay in the engine's own log
 * and the memory is bounded.
 */
export class LineBuffer {
  #lines: BufferedLine[] = [];
  #length = 0;
  #wake: () => void = () => undefined;
  #changed = this.#nextChange();
  readonly #lengthMax: number;

  /** @param lengthMax Number of characters; a single line may exceed it. */
  constructor(lengthMax: number) {
    this.#lengthMax = lengthMax;
  }

  /** Resolves when it was added, or on `signal` without that. */
  async add(line: BufferedLine, signal: AbortSignal): Promise<void> {
    while (this.#length >= this.#lengthMax && !signal.aborted) await this.#change(signal);
    if (signal.aborted) return;
    this.#lines.push(line);
    this.#length += lengthOf(line);
    this.#notify();
  }

  /** Resolves when it has a line, or on `signal`. */
  async filled(signal: AbortSignal): Promise<void> {
    while (this.#lines.length === 0 && !signal.aborted) await this.#change(signal);
  }

  /** The oldest lines, within these limits, but at least one. They stay until they are removed. */
  oldest({ count, length }: { readonly count: number; readonly length: number }): readonly BufferedLine[] {
    let sum = 0;
    const end = this.#lines.slice(0, count).findIndex((line) => {
      sum += lengthOf(line);
      return sum > length;
    });
    return this.#lines.slice(0, end === -1 ? count : Math.max(end, 1));
  }

  remove(isRemoved: (line: BufferedLine) => boolean): void {
    this.#lines = this.#lines.filter((line) => !isRemoved(line));
    this.#length = this.#lines.reduce((sum, line) => sum + lengthOf(line), 0);
    this.#notify();
  }

  #notify(): void {
    this.#wake();
    this.#changed = this.#nextChange();
  }

  #nextChange(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  async #change(signal: AbortSignal): Promise<void> {
    let stop = () => {};
    const aborted = new Promise<void>((resolve) => {
      stop = resolve;
      signal.addEventListener("abort", stop, { once: true });
    });
    await Promise.race([this.#changed, aborted]);
    signal.removeEventListener("abort", stop);
  }
}

/** With what is kept of a line besides its text. */
const lengthOf = ({ line }: BufferedLine): number => line.line.length + LINE_LENGTH;
const LINE_LENGTH = 100;
