import { DomainError } from "@berth/core";

/** Bytes that one request keeps in memory: its body, and its answer until the client has received it. */
export interface HeldBytes {
  /**
   * @throws DomainError `request.overloaded` beyond a share, `request.malformed` after `close`; nothing is counted then.
   */
  hold(bytes: number): void;
  /** Counts bytes that can no longer be refused. */
  note(bytes: number): void;
  /** Bytes of this request. */
  readonly held: number;
  /** Releases all bytes, and ignores later ones. */
  close(): void;
}

export interface ByteOwner {
  readonly token: string;
  readonly team: string;
}

export interface ByteShares {
  readonly perToken: number;
  readonly perTeam: number;
  readonly total: number;
}

const MB = 1024 * 1024;
/** Besides the counted text there are objects of it, and a control plane of many servers needs most of its heap. */
export const BYTE_SHARES: ByteShares = { perToken: 32 * MB, perTeam: 48 * MB, total: 64 * MB };

/** Counts the bytes that requests keep in memory, so that no caller can use all of it. */
export function byteLedger(shares = BYTE_SHARES): (owner: ByteOwner) => HeldBytes {
  const held = new Map<string, number>();
  let heldByAll = 0;
  let teams = 0;
  const add = (key: string, bytes: number) => {
    const count = (held.get(key) ?? 0) + bytes;
    if (count === 0) held.delete(key);
    else held.set(key, count);
  };

  return ({ token, team }) => {
    const [tokenKey, teamKey] = [`token ${token}`, `team ${team}`];
    let own = 0;
    let isClosed = false;
    const count = (bytes: number) => {
      if (bytes === 0) return;
      const hadNone = !held.has(teamKey);
      own += bytes;
      heldByAll += bytes;
      for (const key of [tokenKey, teamKey]) add(key, bytes);
      teams += Number(held.has(teamKey)) - Number(!hadNone);
    };
    return {
      hold(bytes) {
        // Nobody reads the answer, and nothing would release its bytes.
        if (isClosed) throw new DomainError("request.malformed", "The client did not wait for the answer.");
        const ofTeam = (held.get(teamKey) ?? 0) + bytes;
        if ((held.get(tokenKey) ?? 0) + bytes > shares.perToken || ofTeam > shares.perTeam) throw overloaded();
        // If the total is exceeded, only teams with more than an equal share are refused: a team is never refused
        // because of another.
        const isLarge = ofTeam > shares.total / Math.max(1, teams);
        if (heldByAll + bytes > shares.total && isLarge) throw overloaded();
        count(bytes);
      },
      note(bytes) {
        if (!isClosed) count(bytes);
      },
      get held() {
        return own;
      },
      close() {
        count(-own);
        isClosed = true;
      },
    };
  };
}

const overloaded = () =>
  new DomainError(
    "request.overloaded",
    "Too much is being sent or answered at once for this token or team. Try again in a second.",
    { retryAfterSeconds: 1 },
  );
