import { Alert, Anchor, Text, VisuallyHidden } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { trpc } from "../api/client.ts";
import { TextLink } from "../parts/link.tsx";
import { Loaded } from "../parts/page.tsx";
import { State, Status } from "../parts/state.tsx";
import type { Resource, Server } from "../resource/attention.ts";
import { ResourceLink } from "../resource/resource-link.tsx";
import { serverState } from "../server/server-state.ts";
import { elementsOf, type MapArrow, type MapBox, type Use } from "./elements.ts";
import { layoutOf, type Rectangle } from "./layout.ts";

interface MapProps {
  readonly project: string;
  readonly environment: { readonly uuid: string; readonly name: string };
  readonly resources: readonly Resource[];
}

/** The resources of an environment, with arrows from what uses to what is used, and a frame for each server. */
export default function EnvironmentMap({ project, environment, resources }: MapProps) {
  const asked = { uuid: project, environment_name_or_uuid: environment.uuid };
  const uses = useQuery(trpc.projects.environments.attachments.queryOptions(asked));
  const servers = useQuery(trpc.servers.list.queryOptions({})).data ?? [];
  return (
    <Loaded query={uses}>
      {(known) => <Drawing label={`Map of ${environment.name}`} resources={resources} uses={known} servers={servers} />}
    </Loaded>
  );
}

interface DrawingProps {
  readonly label: string;
  readonly resources: readonly Resource[];
  readonly uses: readonly Use[];
  readonly servers: readonly Server[];
}

function Drawing({ label, resources, uses, servers }: DrawingProps) {
  const { ref, width } = useElementSize();
  // What is hovered or focused, whose arrows stand out.
  const [chosen, setChosen] = useState<string>();
  const { boxes, arrows } = useMemo(() => elementsOf(resources, uses), [resources, uses]);
  const layout = useMemo(() => layoutOf(boxes, arrows, width), [boxes, arrows, width]);
  const problems = uses.filter(({ problem, is_preview }) => problem !== null && !is_preview);
  return (
    <div ref={ref}>
      {problems.map(({ resource_name, database_name, key, problem }) => (
        <Alert key={`${resource_name} ${key}`} color="red" variant="outline" mb="xs" className="break">
          {resource_name} cannot use {database_name} ({key}): {problem}
        </Alert>
      ))}
      {width > 0 && (
        <div className="map" style={{ height: layout.height }}>
          {[...layout.frames].map(([uuid, place]) => (
            <div key={uuid} className="map-frame" style={placeOf(place)}>
              <FrameTitle uuid={uuid} server={servers.find((server) => server.uuid === uuid)} />
            </div>
          ))}
          <svg className="map-arrows" width={layout.width} height={layout.height} aria-hidden>
            {arrows.map((arrow, at) => (
              <path key={`${arrow.from} ${arrow.to}`} d={layout.paths[at]} className={classOf(arrow, chosen)} />
            ))}
          </svg>
          <ul aria-label={label}>
            {boxes.map((box) => (
              <li
                key={box.id}
                className="map-box"
                style={placeOf(layout.boxes.get(box.id))}
                onMouseEnter={() => setChosen(box.id)}
                onMouseLeave={() => setChosen(undefined)}
                onFocus={() => setChosen(box.id)}
                onBlur={() => setChosen(undefined)}
              >
                {box.isUrls ? <Urls resource={box.resource} /> : <Content box={box} arrows={arrows} boxes={boxes} />}
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}

const placeOf = (place: Rectangle | undefined) =>
  place && { transform: `translate(${place.x}px, ${place.y}px)`, width: place.width, height: place.height };

const classOf = ({ from, to, hasProblem }: MapArrow, chosen: string | undefined): string =>
  ["map-arrow", hasProblem && "map-arrow-bad", (from === chosen || to === chosen) && "map-arrow-chosen"]
    .filter(Boolean)
    .join(" ");

function FrameTitle({ uuid, server }: { readonly uuid: string; readonly server: Server | undefined }) {
  return (
    <div className="map-frame-title">
      <TextLink to="/servers/$uuid/{-$tab}" params={{ uuid }} size="sm" dir="auto">
        {server?.name ?? "Server"}
      </TextLink>
      {server !== undefined && <State state={serverState(server)} />}
    </div>
  );
}

function Urls({ resource: { urls, name } }: Pick<MapBox, "resource">) {
  const [url = "", ...others] = urls;
  return (
    <>
      <Anchor href={url} target="_blank" rel="noreferrer" size="sm">
        {url.replace(/^https?:\/\//, "")}
      </Anchor>
      <Text size="xs" c="dimmed">
        {others.length > 0 ? `and ${others.length} more` : url.startsWith("https:") ? "https" : "http"}
        <VisuallyHidden>, answered by {name}</VisuallyHidden>
      </Text>
    </>
  );
}

interface ContentProps {
  readonly box: MapBox;
  readonly arrows: readonly MapArrow[];
  readonly boxes: readonly MapBox[];
}

function Content({ box: { id, resource }, arrows, boxes }: ContentProps) {
  const nameOf = (other: string) => boxes.find((box) => box.id === other)?.resource.name;
  const uses = arrows.filter(({ from }) => from === id);
  return (
    <>
      <ResourceLink {...resource} />
      <Text size="xs" component="div">
        <Status status={resource.status} problem={resource.status_problem} />
        {uses.map(({ to, keys }) => (
          <VisuallyHidden key={to}>
            , uses {nameOf(to)} by {keys.join(", ")}
          </VisuallyHidden>
        ))}
      </Text>
    </>
  );
}
