/// The calls about uploaded files, which `catalog` stores.
public enum FileCalls {
    /// Stores a file permanently. Sender: gateway.
    public static let save = Call<SaveFileRequest, Accepted>("catalog.saveFile.v1")
    /// A file's type, size and metadata, and a part of its content. Sender: gateway.
    public static let get = Call<FileRequest, FileReply>("catalog.file.v1")
    /// A public picture, shrunk to a width. Sender: gateway.
    public static let picture = Call<PictureRequest, FileReply>("catalog.picture.v1")
    /// Deletes a file. Sender: gateway.
    public static let delete = Call<DeleteFileRequest, Accepted>("catalog.deleteFile.v1")
    /// Deletes a photo that an account shows no longer. Sender: users' outbox.
    public static let dropAccountPhoto = Call<DropAccountPhoto, Accepted>("catalog.dropAccountPhoto.v1")

    static let all: [any DeclaredCall] = [save, get, picture, delete, dropAccountPhoto]
}
