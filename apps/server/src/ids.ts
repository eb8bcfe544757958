import { randomInt } from "node:crypto";
import type { Ids } from "@berth/core/ports";

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const DIGITS = "0123456789";
const UUID_LENGTH = 24;

export const ids: Ids = {
  // Begins with a letter, so that it is a valid host name and identifier.
  uuid: () => pick(LETTERS, 1) + pick(LETTERS + DIGITS, UUID_LENGTH - 1),
  secret: (length) => pick(LETTERS + LETTERS.toUpperCase() + DIGITS, length),
};

const pick = (alphabet: string, length: number) =>
  Array.from({ length }, () => alphabet.charAt(randomInt(alphabet.length))).join("");
