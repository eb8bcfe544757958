type Cleanup = () => unknown;
const cleanups: Cleanup[] = [];

/**
 * Has a cleanup run at the end of the row, the last one first: also after the row's body threw, and when the program
 * is interrupted.
 */
export function atRowEnd(cleanup: Cleanup): void {
  cleanups.push(cleanup);
}

/** Runs a row's body, and ends all that it has begun. */
export async function inRow<T>(body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } finally {
    await endRow();
  }
}

/** Ends all that the row has begun. Nothing of it runs in the background of the next row. */
export async function endRow(): Promise<void> {
  for (let cleanup = cleanups.pop(); cleanup !== undefined; cleanup = cleanups.pop()) {
    try {
      await cleanup();
    } catch (error) {
      console.log(`  Not cleaned up: ${error instanceof Error ? error.message : error}`);
    }
  }
}
