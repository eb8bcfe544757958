import type { SVGProps } from "react";

const icon = (path: string) =>
  function Icon(props: SVGProps<SVGSVGElement>) {
    return (
      <svg
        width="16"
        height="16"
        viewBox="0 0 16 16"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.4"
        strokeLinecap="round"
        strokeLinejoin="round"
        aria-hidden
        {...props}
      >
        <path d={path} />
      </svg>
    );
  };

export const OverviewIcon = icon("M2 2h5v5H2zM9 2h5v5H9zM2 9h5v5H2zM9 9h5v5H9z");
export const ServerIcon = icon("M2 3h12v4H2zM2 9h12v4H2zM4.5 5h.01M4.5 11h.01");
export const TeamIcon = icon(
  "M6 7a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5M1.5 14c0-3 2-4.5 4.5-4.5s4.5 1.5 4.5 4.5M11 2.3a2.5 2.5 0 0 1 0 4.4M12 9.8c1.6.5 2.5 2 2.5 4.2",
);
export const NewIcon = icon("M8 3v10M3 8h10");
export const ApplicationIcon = icon("M2 3h12v10H2zM2 6h12M4 4.5h.01M6 4.5h.01");
export const DatabaseIcon = icon(
  "M3 4c0-2.7 10-2.7 10 0v8c0 2.7-10 2.7-10 0zM3 4c0 2.7 10 2.7 10 0M3 8c0 2.7 10 2.7 10 0",
);
export const ServiceIcon = icon("M8 1.5 14 5v6l-6 3.5L2 11V5zM2 5l6 3.5L14 5M8 8.5v6");
export const BookIcon = icon("M3 2.5h7a3 3 0 0 1 3 3v8H6a3 3 0 0 1-3-3zM3 10.5a3 3 0 0 1 3-2.5h7");
