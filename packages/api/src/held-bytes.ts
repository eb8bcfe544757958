import { DomainError } from "@berth/core";

/** Bytes that one request holds: of its body, and of the answer until the client has taken it. */
export interface HeldBytes {
  /** @throws DomainError `request.overloaded` beyond a share; it then counts none of them. */
  hold(bytes: number): void;
  /** Counts what cannot be refused any more. */
  note(bytes: number): void;
  /** Of this request. */
  readonly held: number;
  /** Gives all back, now and whatever is held later. */
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
/** The heap of `npm start` is 192 MB, and what is held as text was there as objects. */
export const BYTE_SHARES: ByteShares = { perToken: 32 * MB, perTeam: 48 * MB, total: 64 * MB };

/** Counts the bytes that requests hold, so that none of them takes the memory of all. */
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
        // Nobody reads the answer any more, and nothing would give back what it holds.
        if (isClosed) throw overloaded();
        const ofTeam = (held.get(teamKey) ?? 0) + bytes;
        if ((held.get(tokenKey) ?? 0) + bytes > shares.perToken || ofTeam > shares.perTeam) throw overloaded();
        // Where all together hold too much, those wait that hold more than others: a team is never refused for another.
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
