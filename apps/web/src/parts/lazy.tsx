import { Skeleton } from "@mantine/core";
import { type ComponentProps, lazy, Suspense } from "react";
import { useRefusal } from "./allowed.tsx";
import { Empty } from "./page.tsx";

const LazyEditor = lazy(() => import("./editor.tsx"));
const LazyChart = lazy(() => import("./chart.tsx"));
const LazyMap = lazy(() => import("../map/environment-map.tsx"));
const LazySharedVariables = lazy(() => import("./shared-variables.tsx"));
const LazyTerminal = lazy(() => import("../terminal/terminal.tsx"));

export const Editor = (props: ComponentProps<typeof LazyEditor>) => (
  <Suspense fallback={<Skeleton h={200} />}>
    <LazyEditor {...props} />
  </Suspense>
);

export const Chart = (props: ComponentProps<typeof LazyChart>) => (
  <Suspense fallback={<Skeleton h={170} />}>
    <LazyChart {...props} />
  </Suspense>
);

export const EnvironmentMap = (props: ComponentProps<typeof LazyMap>) => (
  <Suspense fallback={<Skeleton h={200} />}>
    <LazyMap {...props} />
  </Suspense>
);

export const SharedVariables = (props: ComponentProps<typeof LazySharedVariables>) => (
  <Suspense fallback={<Skeleton h={120} />}>
    <LazySharedVariables {...props} />
  </Suspense>
);

/** For who may not open one, the reason. */
export function Terminal(props: ComponentProps<typeof LazyTerminal>) {
  const refusal = useRefusal(props.place.kind === "server" ? "root" : "terminal");
  if (refusal !== undefined) return <Empty title="No shell is open">{refusal}</Empty>;
  return (
    <Suspense fallback={<Skeleton h={320} />}>
      <LazyTerminal {...props} />
    </Suspense>
  );
}
