// The icons of the shop as an app on a telephone: PNG files of the logo, or of the first letter of the shop's name.

/** Names with their sizes. A system cuts the edges of `maskable`. */
const icons = { 192: 192, 512: 512, maskable: 512, apple: 180 };

/**
 * @param options `{ picture, name, accent, ink, ground }`: the URL of the logo or null, and colours.
 * @returns files by name.
 */
export async function drawIcons({ picture, ...look }) {
  let logo = null;
  if (picture) {
    logo = new Image();
    logo.src = picture;
    await logo.decode();
  }
  const drawn = Object.entries(icons).map(async ([name, size]) => [name, await draw(name, size, logo, look)]);
  return Object.fromEntries(await Promise.all(drawn));
}

async function draw(icon, size, logo, { name, accent, ink, ground }) {
  const canvas = Object.assign(document.createElement('canvas'), { width: size, height: size });
  const context = canvas.getContext('2d');
  const isCut = icon === 'maskable';
  if (!logo || isCut || icon === 'apple') {
    context.fillStyle = logo ? ground : accent;
    context.fillRect(0, 0, size, size);
  }
  const room = size * (isCut ? 0.6 : icon === 'apple' ? 0.8 : 1);
  if (logo) {
    const scale = room / Math.max(logo.naturalWidth, logo.naturalHeight);
    const [width, height] = [logo.naturalWidth * scale, logo.naturalHeight * scale];
    context.drawImage(logo, (size - width) / 2, (size - height) / 2, width, height);
  } else {
    Object.assign(context, {
      fillStyle: ink,
      font: `600 ${Math.round(room * 0.55)}px system-ui, sans-serif`,
      textAlign: 'center',
      textBaseline: 'middle',
    });
    context.fillText([...name.trim()][0]?.toUpperCase() ?? '', size / 2, size / 2);
  }
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
  return new File([blob], `icon-${icon}.png`, { type: 'image/png' });
}
