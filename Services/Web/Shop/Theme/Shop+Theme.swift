import Messages
import ParseProtocol

/// The theme in pages, in its style sheet and in the manifest.
extension Shop {
    /// The values of the layout that depend on the theme. Each has a value, because a missing one would be looked up in
    /// the page's values.
    func look(_ visit: ShopVisit) -> [String: Any] {
        let theme = visit.theme
        func known(_ text: String?) -> Any { text.map { $0 as Any } ?? false }
        return [
            "theme": known(theme.path), "logo": known(theme.logo),
            "lightBar": theme.light.accent.description, "darkBar": theme.dark.background.description,
            "ownIcon": known(theme.icons["192"]),
            "touchIcon": theme.icons["apple"] ?? "\(assets)/icon-apple.png",
        ]
    }

    /// The style sheet of the theme. Its path names its content; for another one it must not be kept.
    func styles(_ visit: ShopVisit, _ file: String) throws(ShopStop) -> ShopPage {
        guard let css = visit.theme.css else { throw .page(missing(visit)) }
        var page = document(css, type: "text/css")
        page.personal = visit.theme.path != "/theme/\(file)"
        return page
    }

    /// The shop as an app on a telephone's start screen.
    func manifest(_ visit: ShopVisit) -> ShopPage {
        let theme = visit.theme
        let own = theme.icons
        func icon(_ name: String, _ size: String, _ purpose: String) -> JSON {
            let standard = own.isEmpty ? "\(assets)/icon-\(name).png" : ""
            return [
                "src": .string(own[name] ?? standard), "sizes": .string(size), "type": "image/png",
                "purpose": .string(purpose),
            ]
        }
        var icons = [
            icon("192", "192x192", "any"), icon("512", "512x512", "any"), icon("maskable", "512x512", "maskable"),
        ].filter { $0["src"] != "" }
        if own.isEmpty {
            let source = JSON.string("\(assets)/../shared/icon.svg")
            icons.insert(["src": source, "sizes": "any", "type": "image/svg+xml", "purpose": "any"], at: 0)
        }
        let manifest: JSON = [
            "name": .string(name(visit)), "short_name": .string(name(visit)), "id": "/", "start_url": "/",
            "scope": "/", "display": "minimal-ui", "lang": .string(words(visit).language),
            "theme_color": .string(theme.light.accent.description),
            "background_color": .string(theme.light.background.description), "icons": .array(icons),
        ]
        return document(manifest.serializedText, type: "application/manifest+json")
    }
}
