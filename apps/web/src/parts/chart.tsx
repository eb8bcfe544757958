import { Text, useComputedColorScheme } from "@mantine/core";
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { eachOnce, timeLabels } from "./chart-axis.ts";
import { State } from "./state.tsx";

interface ChartProps {
  readonly title: string;
  /** Seconds since 1970. */
  readonly times: readonly number[];
  readonly values: readonly (number | null)[];
  readonly format: (value: number) => string;
  /** Which of the times failed: they have a mark at the bottom. */
  readonly failures?: readonly boolean[];
  /** What the newest value is called. Default: `now`. */
  readonly newest?: string;
}

/** A line chart over time. The text above it has the values for screen readers. */
export default function Chart({ title, times, values, format, failures, newest = "now" }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const known = values.filter((value) => value !== null);
  const scheme = useComputedColorScheme("light");
  const failed = failures?.filter((isFailed) => isFailed).length ?? 0;
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const style = getComputedStyle(element);
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: 150,
        cursor: { y: false },
        axes: [
          {
            stroke: style.color,
            space: 80,
            grid: { show: false },
            ticks: { show: false },
            values: (_plot, ticks) => timeLabels(ticks),
          },
          {
            stroke: style.color,
            size: 70,
            grid: { stroke: "rgba(128,128,128,0.2)", width: 1 },
            ticks: { show: false },
            values: (_plot, ticks) => eachOnce(ticks.map(format)),
          },
        ],
        scales: { y: { range: (_plot, _min, max) => [0, Math.max(max * 1.1, 1e-9)] } },
        series: [{}, { stroke: "#748ffc", width: 1.5, fill: "rgba(116,143,252,0.12)" }],
        hooks: { draw: [(drawn) => drawFailures(drawn, times, failures ?? [])] },
      },
      [[...times], [...values]],
      element,
    );
    const resized = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: 150 }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      plot.destroy();
    };
    // What is drawn keeps the colours of its scheme.
  }, [times, values, format, failures, scheme]);
  return (
    <figure style={{ margin: 0 }}>
      <figcaption className="chart-legend">
        <Text fw={600} size="sm">
          {title}
        </Text>
        {known.length > 0 && (
          <Text size="sm" c="dimmed">
            {newest} {format(known.at(-1) ?? 0)}, at most {format(Math.max(...known))}
          </Text>
        )}
        {failed > 0 && (
          <Text size="sm">
            <State state={{ tone: "bad", word: `${failed} failed` }} />
          </Text>
        )}
      </figcaption>
      <div ref={place} aria-hidden />
    </figure>
  );
}

/** The mark of a failed state, in a red that is seen on light and dark ground. */
function drawFailures({ ctx, bbox, valToPos }: uPlot, times: readonly number[], failures: readonly boolean[]): void {
  ctx.save();
  ctx.fillStyle = "#fa5252";
  ctx.font = `${12 * devicePixelRatio}px sans-serif`;
  ctx.textAlign = "center";
  ctx.textBaseline = "bottom";
  for (const [index, time] of times.entries()) {
    if (failures[index] === true) ctx.fillText("✗", valToPos(time, "x", true), bbox.top + bbox.height);
  }
  ctx.restore();
}
