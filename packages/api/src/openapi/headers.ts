const header = (type: "string" | "integer", description: string) => ({ description, schema: { type } });

/** Headers of answers, shared by reference. */
export const headers = {
  "X-Request-Id": header("string", "Names this request in the server's log. One that was sent is kept."),
  "X-Total-Count": header("integer", "Entries in all, whatever the page."),
  Link: header("string", "The pages around this one (RFC 8288): `first`, `prev`, `next`, `last`."),
  "X-RateLimit-Limit": header("integer", "Requests a minute. Absent when there is no limit."),
  "X-RateLimit-Remaining": header("integer", "Requests left in this minute."),
  "X-RateLimit-Reset": header("integer", "When the minute is over, in Unix time. With the code `rate.limited` only."),
  "Retry-After": header("integer", "Seconds to wait."),
};

/** @param names Keys of `headers` */
export const headersOf = (...names: readonly (keyof typeof headers)[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
