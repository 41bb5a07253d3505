import Cryptography
import Foundation
import ParseProtocol
import Synchronization

/// The look of the storefront: the Config parameter `storefront`, which operators edit in the dashboard.
///
/// Config accepts any value. An invalid one counts as missing, and none of its text reaches the style sheet: colours
/// are written from their numbers, and fonts are chosen from a list.
package struct ShopTheme: Sendable {
    /// A part of the home page.
    enum Section: String, CaseIterable {
        case promotions, brands, new, best

        static let standard: [Section] = [.promotions, .brands, .new]
    }

    /// The shop's name; nil for `SATCHEL_SHOP_NAME`.
    let name: String?
    /// The language of all pages; nil for the browser's.
    let language: String?
    let sections: [Section]
    /// The URL of the picture in place of the name.
    let logo: String?
    /// URLs of pictures by their names in `iconNames`: PNG files that the dashboard draws.
    let icons: [String: String]
    /// The style sheet; nil without colours and font of the shop.
    package let css: String?
    /// The path of the style sheet, which names its content; nil for none.
    package let path: String?
    /// The accents and backgrounds, for browsers' own bars.
    let light: ShopScheme
    let dark: ShopScheme

    static let iconNames = ["192", "512", "maskable", "apple"]
    private static let nameMax = 60
    private static let urlBytesMax = 2000

    /// Fonts of operating systems: browsers load none.
    package static let fonts = [
        "system": "system-ui, sans-serif",
        "humanist": #"Seravek, "Gill Sans Nova", Ubuntu, Calibri, "DejaVu Sans", sans-serif"#,
        "geometric": #"Avenir, Montserrat, Corbel, "URW Gothic", sans-serif"#,
        "classical": #"Optima, Candara, "Noto Sans", sans-serif"#,
        "old-style": #""Iowan Old Style", "Palatino Linotype", "URW Palladio L", P052, serif"#,
        "transitional": #"Charter, "Bitstream Charter", "Sitka Text", Cambria, serif"#,
        "slab": #"Rockwell, "Rockwell Nova", "Roboto Slab", "DejaVu Serif", serif"#,
        "mono": #"ui-monospace, "Cascadia Code", Menlo, Consolas, "DejaVu Sans Mono", monospace"#,
    ]

    /// - Parameter value: of the parameter; `.null` for none.
    package init(_ value: JSON) {
        func text(_ name: String) -> String? { value[name]?.stringValue }
        func color(_ name: String) -> ShopColor? { text(name).flatMap { ShopColor($0) } }
        func scheme(_ standard: ShopScheme, _ prefix: String) -> ShopScheme? {
            let own = ["Accent", "Background", "Text"].map { color(prefix + $0) }
            guard own.contains(where: { $0 != nil }) else { return nil }
            return ShopScheme(standard, accent: own[0], background: own[1], text: own[2])
        }
        let ownLight = scheme(.light, "light")
        let ownDark = scheme(.dark, "dark")
        light = ownLight ?? .light
        dark = ownDark ?? .dark
        let rules = [
            text("font").flatMap { Self.fonts[$0] }.map { ":root{--font:\($0)}" },
            ownLight.map { "@media (prefers-color-scheme:light){:root{\($0.css)}}" },
            ownDark.map { "@media (prefers-color-scheme:dark){:root{\($0.css)}}" },
        ].compactMap(\.self)
        let sheet: String? = rules.isEmpty ? nil : rules.joined(separator: "\n") + "\n"
        css = sheet
        path = sheet.map { "/theme/\(SHA256.hash(data: Array($0.utf8)).prefix(8).hex).css" }

        let trimmed = (text("name") ?? "").trimmingCharacters(in: .whitespacesAndNewlines)
        let isName =
            !trimmed.isEmpty && trimmed.count <= Self.nameMax
            && !trimmed.unicodeScalars.contains { CharacterSet.controlCharacters.contains($0) }
        name = isName ? trimmed : nil
        language = text("language").flatMap { $0.isEmpty ? nil : $0 }
        var wanted: [Section] = []
        for name in (value["sections"]?.arrayValue ?? []).compactMap(\.stringValue) {
            guard let section = Section(rawValue: name) else { continue }
            if !wanted.contains(section) { wanted.append(section) }
        }
        sections = wanted.isEmpty ? Section.standard : wanted
        logo = Self.url(value["logo"])
        icons = Self.iconNames.reduce(into: [:]) { icons, name in icons[name] = Self.url(value["icons"]?[name]) }
    }

    /// - Parameter bytes: the JSON of the parameter; empty for none.
    init(parsing bytes: [UInt8]) { self.init((try? JSON(parsing: bytes)) ?? .null) }

    /// The URL of a File.
    private static func url(_ file: JSON?) -> String? {
        guard file?["__type"] == "File", let url = file?["url"]?.stringValue, url.utf8.count <= urlBytesMax,
            url.hasPrefix("https://") || url.hasPrefix("http://") || (url.hasPrefix("/") && !url.hasPrefix("//"))
        else { return nil }
        return url
    }
}

/// The theme of the last request, because nearly all requests have the same.
final class LastTheme: Sendable {
    private struct Known {
        let bytes: Data
        let theme: ShopTheme
    }

    private let known = Mutex<Known?>(nil)

    /// - Parameter bytes: the JSON of the parameter; empty for none.
    func theme(_ bytes: Data) -> ShopTheme {
        if let known = known.withLock({ $0 }), known.bytes == bytes { return known.theme }
        let theme = ShopTheme(parsing: Array(bytes))
        known.withLock { $0 = Known(bytes: bytes, theme: theme) }
        return theme
    }
}
