Deno.serve(
  { port: Number(Deno.env.get("PORT")), hostname: Deno.env.get("HOST") ?? "0.0.0.0" },
  () => new Response("Hello from Deno\n"),
);
