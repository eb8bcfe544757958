/** Something that runs only while it is used. */
export interface WhileUsed {
  /** Begins it if it does not run. @returns A function that ends this use. */
  use(): () => void;
  /** Ends it at once; later uses have no effect. */
  close(): void;
}

export interface WhileUsedOptions {
  /** The signal fires at its end. */
  readonly begin: (signal: AbortSignal) => void;
  /** How long it continues after the last use, since uses come in series. */
  readonly lingerSeconds: number;
}

export function whileUsed({ begin, lingerSeconds }: WhileUsedOptions): WhileUsed {
  let uses = 0;
  let running: AbortController | undefined;
  let ending: NodeJS.Timeout | undefined;
  let isClosed = false;

  const end = () => {
    running?.abort();
    running = undefined;
  };

  return {
    use() {
      let isUsed = true;
      uses += 1;
      clearTimeout(ending);
      if (running === undefined && !isClosed) {
        running = new AbortController();
        begin(running.signal);
      }
      return () => {
        if (!isUsed) return;
        isUsed = false;
        uses -= 1;
        if (uses === 0 && !isClosed) ending = setTimeout(end, lingerSeconds * 1000).unref();
      };
    },
    close() {
      isClosed = true;
      clearTimeout(ending);
      end();
    },
  };
}
