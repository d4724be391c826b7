"""python -m training.refresh_digests: pin the weights in the package as they are now."""

from halldetect.models.integrity import write_shipped_digests

if __name__ == "__main__":
    for name, digest in write_shipped_digests().items():
        print(f"{name}: {digest}")
