import { clientNetwork, DomainError } from "@berth/core";
import type { Clock } from "@berth/core/ports";

/** Wrong passwords for an account from one address without a delay; each further one doubles it. */
const FREE_TRIES = 5;
const WAIT_SECONDS_MAX = 900;
/** Limit of tries from one address for all accounts, within the longest delay. */
const ADDRESS_TRIES_MAX = 50;
/** Codes of one user that are tried in as long as the longest wait: three of a million are right at a time. */
const CODE_TRIES_MAX = 20;
/** Mails to one user, until none was asked for in as long as the longest wait. */
const MAILS_MAX = 3;
/** Beyond it the oldest are forgotten, so that a flood of addresses cannot fill the memory. */
const KEPT_MAX = 20_000;

interface Tries {
  count: number;
  /** Milliseconds since the epoch. */
  lastAt: number;
}

export interface SignInTries {
  /**
   * Counts a try before the password is compared, so that simultaneous tries all count.
   * @throws DomainError `rate.limited`
   */
  enter(account: string, address: string): void;
  /** The password was correct: the account's tries from this address are deleted. */
  succeed(account: string, address: string): void;
  /** The try was none: the password was right, and a code has to be entered, too. */
  retract(account: string, address: string): void;
  /**
   * Counts a try of a code, from wherever: only who knows the password can hold up others here.
   * @throws DomainError `rate.limited`
   */
  enterCode(userId: number): void;
  succeedCode(userId: number): void;
  /** Counts a mail to a user. @returns Whether it may be sent: a mailbox cannot be flooded from many addresses */
  enterMail(userId: number): boolean;
}

/**
 * Limits guesses, in this process's memory. Sign-ins to the same account from other addresses are not delayed, since
 * otherwise strangers could lock users out.
 */
export function signInTries(clock: Clock): SignInTries {
  const tries = new Map<string, Tries>();
  const known = (key: string): Tries | undefined => {
    const found = tries.get(key);
    if (found === undefined || clock.now().getTime() - found.lastAt < WAIT_SECONDS_MAX * 1000) return found;
    tries.delete(key);
    return undefined;
  };
  const count = (key: string) => {
    const found = known(key);
    tries.delete(key); // keeps the map ordered by age
    tries.set(key, { count: (found?.count ?? 0) + 1, lastAt: clock.now().getTime() });
    const [oldest] = tries.keys();
    if (tries.size > KEPT_MAX && oldest !== undefined) tries.delete(oldest);
  };
  return {
    enter(account, address) {
      const ofAccount = known(accountKey(account, address));
      const ofAddress = known(addressKey(address));
      requireWaited(ofAccount, waitSeconds(ofAccount?.count ?? 0), clock);
      requireWaited(ofAddress, (ofAddress?.count ?? 0) >= ADDRESS_TRIES_MAX ? WAIT_SECONDS_MAX : 0, clock);
      count(accountKey(account, address));
      count(addressKey(address));
    },
    succeed(account, address) {
      tries.delete(accountKey(account, address));
      const ofAddress = tries.get(addressKey(address));
      if (ofAddress !== undefined) ofAddress.count -= 1;
    },
    retract(account, address) {
      for (const found of [tries.get(accountKey(account, address)), tries.get(addressKey(address))]) {
        if (found !== undefined) found.count -= 1;
      }
    },
    enterCode(userId) {
      const ofUser = known(codeKey(userId));
      requireWaited(ofUser, (ofUser?.count ?? 0) >= CODE_TRIES_MAX ? WAIT_SECONDS_MAX : 0, clock);
      count(codeKey(userId));
    },
    succeedCode: (userId) => void tries.delete(codeKey(userId)),
    enterMail(userId) {
      const key = JSON.stringify({ mailTo: userId });
      if ((known(key)?.count ?? 0) >= MAILS_MAX) return false;
      count(key);
      return true;
    },
  };
}

const accountKey = (account: string, address: string) => JSON.stringify([account, clientNetwork(address)]);
const addressKey = (address: string) => JSON.stringify([clientNetwork(address)]);

const codeKey = (userId: number) => JSON.stringify({ userId });

const waitSeconds = (count: number): number =>
  count < FREE_TRIES ? 0 : Math.min(WAIT_SECONDS_MAX, 2 ** (count - FREE_TRIES));

function requireWaited(tries: Tries | undefined, seconds: number, clock: Clock): void {
  if (tries === undefined || seconds === 0) return;
  const retryAfterSeconds = Math.ceil((tries.lastAt + seconds * 1000 - clock.now().getTime()) / 1000);
  if (retryAfterSeconds <= 0) return;
  throw new DomainError("rate.limited", `Too many tries. Try again in ${retryAfterSeconds} s.`, {
    retryAfterSeconds,
  });
}
