const header = (type: "string" | "integer", description: string) => ({ description, schema: { type } });

/** Headers of answers, shared by reference. */
export const headers = {
  "X-Request-Id": header("string", "Identifies this request in the server's log. A sent one is used."),
  "X-Total-Count": header("integer", "Total number of entries, regardless of the page."),
  Link: header("string", "The pages around this one (RFC 8288): `first`, `prev`, `next`, `last`."),
  "Content-Disposition": header("string", "Name of the file."),
  "Repr-Digest": header("string", "Its SHA-256 as `sha-256=:BASE64:` (RFC 9530)."),
  "X-RateLimit-Limit": header("integer", "Requests per minute. Absent without a limit."),
  "X-RateLimit-Remaining": header("integer", "Requests left in this minute."),
  "X-RateLimit-Reset": header("integer", "End of the minute, in Unix time. Only with the code `rate.limited`."),
  "Retry-After": header("integer", "Seconds to wait."),
};

/** @param names Keys of `headers` */
export const headersOf = (...names: readonly (keyof typeof headers)[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
