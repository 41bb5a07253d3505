import ParseProtocol

/// A picture of an object. The gateway serves public ones in the widths of `PictureWidths`.
struct ShopPicture {
    /// The file's own URL.
    let url: String
    /// The URL without the name, and the name; nil when the file is served as it is only.
    private let parts: (folder: Substring, name: Substring)?

    init?(_ file: JSON?) {
        guard let url = ShopView.picture(file) else { return nil }
        self.url = url
        let name = file?["name"]?.stringValue ?? ""
        let ending = "/" + (name.utf8.contains(UInt8(ascii: " ")) ? name.replacing(" ", with: "%20") : name)
        guard PictureWidths.apply(to: name), url.hasSuffix(ending) else {
            parts = nil
            return
        }
        parts = (folder: url.dropLast(ending.count), name: ending.dropFirst())
    }

    /// - Parameter width: one of `PictureWidths`.
    func url(width: Int) -> String { parts.map { "\($0.folder)/width/\(width)/\($0.name)" } ?? url }

    /// The values of templates: `picture`, and `srcset` with the widths up to a limit.
    func values(upTo widthMax: Int) -> [String: Any] {
        let widths = PictureWidths.all.filter { $0 <= widthMax }.map { "\(url(width: $0)) \($0)w" }
        // A missing value would be looked up in the values around.
        return ["picture": url, "srcset": parts == nil ? false as Any : widths.joined(separator: ", ") as Any]
    }
}

extension ShopView {
    /// The values of a picture in a template; empty without a picture.
    static func picture(_ file: JSON?, upTo widthMax: Int) -> [String: Any] {
        ShopPicture(file)?.values(upTo: widthMax) ?? [:]
    }
}
