/// The colours of one scheme, light or dark. `Site/dashboard/storefront/colors.js` computes the same for its preview.
struct ShopScheme {
    /// The contrast of a text with its background that WCAG demands.
    static let contrastMin = 4.5

    private let ground: ShopColor
    private let card: ShopColor
    private let ink: ShopColor
    private let soft: ShopColor
    private let line: ShopColor
    let accent: ShopColor
    private let onAccent: ShopColor
    private let bad: ShopColor
    private let good: ShopColor

    /// Those of `Site/shop/shop.css`.
    static let light = ShopScheme("#fbfaf8 #ffffff #1d1b18 #6a635a #ddd6cc #8a3b52 #ffffff #a3241a #1f6b3a")
    static let dark = ShopScheme("#171513 #211e1b #f1ede7 #b3aa9e #3b3631 #e79ab3 #2b0f18 #ff9a8f #8fd6a5")

    private init(_ colors: String) {
        let all = colors.split(separator: " ").map { ShopColor(String($0)) ?? .black }
        (ground, card, ink, soft, line) = (all[0], all[1], all[2], all[3], all[4])
        (accent, onAccent, bad, good) = (all[5], all[6], all[7], all[8])
    }

    /// A scheme with colours of the shop. Texts that would be hard to read get another colour.
    /// - Parameter text: of texts; black or white when its contrast is too low.
    init(_ standard: ShopScheme, accent: ShopColor?, background: ShopColor?, text: ShopColor?) {
        let ground = background ?? standard.ground
        let wanted = text ?? standard.ink
        let ink = wanted.contrast(ground) >= Self.contrastMin ? wanted : ground.ink
        let lighter =
            ground == standard.ground
            ? standard.card : ground.mixed(with: .white, ground.luminance > 0.5 ? 0.6 : 0.06)
        let card = ink.contrast(lighter) >= Self.contrastMin ? lighter : ground
        /// The colour, mixed with that of texts until it can be read.
        func readable(_ color: ShopColor) -> ShopColor {
            for step in 0..<10 {
                let mixed = color.mixed(with: ink, Double(step) / 10)
                if min(mixed.contrast(ground), mixed.contrast(card)) >= Self.contrastMin { return mixed }
            }
            return ink
        }
        self.ground = ground
        self.card = card
        self.ink = ink
        soft = readable(ink.mixed(with: ground, 0.35))
        line = ink.mixed(with: ground, 0.82)
        let bright = accent ?? standard.accent
        self.accent = bright
        onAccent = bright.ink
        bad = readable(standard.bad)
        good = readable(standard.good)
    }

    var background: ShopColor { ground }

    /// Declarations of custom properties.
    var css: String {
        """
        --ground:\(ground);--card:\(card);--ink:\(ink);--soft:\(soft);--line:\(line);--accent:\(accent);\
        --on-accent:\(onAccent);--bad:\(bad);--good:\(good)
        """
    }
}
