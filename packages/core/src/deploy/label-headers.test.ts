import { expect, test } from "vitest";
import { labelHeaders } from "./label-headers.ts";

test("headers are read from labels for either proxy, and other labels say nothing of them", () => {
  const labels = [
    "traefik.http.middlewares.sec.headers.customresponseheaders.X-Frame-Options=DENY",
    "traefik.http.middlewares.sec.headers.customResponseHeaders.X-Robots-Tag=a=b",
    "traefik.http.middlewares.sec.headers.customrequestheaders.X-To=me",
    "traefik.http.middlewares.sec.headers.customresponseheaders.X-Powered-By=",
    'caddy_0.header.Permissions-Policy="camera=()"',
    "caddy.header.-Server=",
    "traefik.http.routers.r.rule=Host(`other.test`)",
    "caddy.reverse_proxy={{upstreams 80}}",
    "traefik.http.middlewares.sec.headers.customresponseheaders.Bad Name=x",
    "mine=1",
  ];
  expect(labelHeaders(labels.join("\n"))).toEqual({
    requestHeaders: { "X-To": "me" },
    responseHeaders: {
      "X-Frame-Options": "DENY",
      "X-Robots-Tag": "a=b",
      "X-Powered-By": "",
      "Permissions-Policy": "camera=()",
      Server: "",
    },
  });
  expect([labelHeaders(null), labelHeaders("mine=1")]).toEqual([{}, {}]);
});
