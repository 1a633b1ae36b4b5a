/** One red pixel as a PNG: short enough to read past, and a picture to whoever looks at it. */
export const smallPicture =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mM4oKAAAAKkAQHdsXSBAAAAAElFTkSuQmCC";

export const smallPictureUrl = `data:image/png;base64,${smallPicture}`;
