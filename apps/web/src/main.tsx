import "./nonce.ts";
import "./without-eval.ts";
import "./styles/mantine.ts";
import "./styles/berth.css";
import { isSignedIn, signInFor } from "./api/session.ts";
import { PAGES } from "./pages.ts";

// After an update, an old tab requests files that no longer exist: reload to get the new build.
window.addEventListener("vite:preloadError", () => window.location.reload());

const isAt = (path: string): boolean => location.pathname === path || location.pathname.startsWith(`${path}/`);

if (!isSignedIn() && !isAt("/sign-in")) {
  history.replaceState(null, "", signInFor(location.pathname + location.search + location.hash));
}
// In parts, between which the page reacts. Their files are requested together.
void import("react-dom/client");
void import("./parts/draw.tsx");
void (isAt("/sign-in") ? import("./sign-in/start.tsx") : appWithPage()).then(({ start }) => start());

function isPage(name: string): name is keyof typeof PAGES {
  return Object.hasOwn(PAGES, name);
}

/** Requests the page's own files together with the router, which would request them only after it was loaded itself. */
function appWithPage() {
  const [, page = ""] = location.pathname.split("/");
  if (isPage(page)) void PAGES[page]();
  return import("./app.tsx");
}
