Bun.serve({
  port: Number(process.env.PORT),
  hostname: process.env.HOST ?? "0.0.0.0",
  fetch: () => new Response("Hello from Bun\n"),
});
