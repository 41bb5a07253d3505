/// The widths in which public pictures are served: `<URL of the files>/width/<width>/<name>`.
public enum PictureWidths {
    /// In pixels. Few, so that no client can have a picture made in thousands of sizes.
    public static let all = [160, 320, 640, 960, 1280, 1920]

    /// The width that a path names.
    /// - Returns: nil for every text but the widths in decimal digits.
    public static func width(_ text: some StringProtocol) -> Int? { all.first { text == String($0) } }

    /// Whether a stored name is that of a public file with the extension of a picture.
    public static func apply(to name: String) -> Bool {
        guard FileNames.isStoredName(name), !FileNames.isPrivate(name), let dot = name.lastIndex(of: ".") else {
            return false
        }
        return extensions.contains(name[name.index(after: dot)...].lowercased())
    }

    private static let extensions: Set<String> = ["jpg", "jpeg", "png", "gif", "webp", "heic", "heif", "avif"]
}
