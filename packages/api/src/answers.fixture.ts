import { type AnswerCheck, answerCheckOf } from "@berth/testing";
import { describe } from "./openapi.ts";
import { appRouter } from "./root.ts";

let known: Promise<AnswerCheck> | undefined;

/** The OpenAPI document is generated once for all tests of a worker. */
export const answerCheck = (): Promise<AnswerCheck> => {
  known ??= describe(appRouter).then(answerCheckOf);
  return known;
};
