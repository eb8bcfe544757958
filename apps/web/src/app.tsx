import { Notifications } from "@mantine/notifications";
import { RouterProvider } from "@tanstack/react-router";
import { draw } from "./parts/draw.tsx";
import { router } from "./router.tsx";

export const start = (): void =>
  draw(
    <>
      <Notifications position="bottom-right" autoClose={6000} />
      <RouterProvider router={router} />
    </>,
  );
