import { draw } from "../parts/draw.tsx";
import { CallbackPage } from "./callback-page.tsx";
import { SignInPage } from "./sign-in-page.tsx";

export const start = (): void => draw(location.pathname === "/sign-in/callback" ? <CallbackPage /> : <SignInPage />);
